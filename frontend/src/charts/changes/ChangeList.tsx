import type { ReactElement } from "react";

import { Pending } from "@/ui/states";

import styles from "./ChangeStrip.module.css";

interface ChangeListProps {
  /** undefined: not loaded yet. */
  lines: readonly string[] | undefined;
  title?: string;
}

/** Labels of the lines over several charts without a common strip; nothing if there are none. */
export function ChangeList({ lines, title = "Changes in this window" }: ChangeListProps): ReactElement | null {
  if (lines === undefined) return <Pending />;
  if (lines.length === 0) return null;
  return (
    <ul className={styles["list"]} aria-label={title}>
      {lines.map((line, index) => (
        // Two changes can have the same text.
        <li key={`${index} ${line}`}>
          <span aria-hidden="true">┆ </span>
          {line}
        </li>
      ))}
    </ul>
  );
}
