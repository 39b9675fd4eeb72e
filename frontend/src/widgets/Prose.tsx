import type { ReactElement } from "react";

/** Text of the rule base: what stands between backticks is code. */
export function Prose({ text }: { text: string }): ReactElement {
  return <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}
