import type { ReactElement } from "react";

import { unbroken } from "@/lib/text";

/** Text from the rule base: text between backticks is code. */
export function Prose({ text }: { text: string }): ReactElement {
  return <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : unbroken(part)))}</>;
}
