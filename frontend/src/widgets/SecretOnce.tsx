import type { ReactElement, ReactNode } from "react";

import { CodeBlock } from "@/ui/CodeBlock";

import styles from "./SecretOnce.module.css";

/** A secret that the server shows once and does not store. */
export function SecretOnce({ label, text, children }: { label: string; text: string; children?: ReactNode }): ReactElement {
  return (
    <div className={styles["secret"]} role="status">
      <p>
        <strong>Copy it now. It is shown only once.</strong> {children}
      </p>
      <CodeBlock label={label} text={text} />
    </div>
  );
}
