import type { ReactElement } from "react";

import styles from "./ChangeStrip.module.css";

interface ChangeListProps {
  /** undefined: not known yet. */
  lines: readonly string[] | undefined;
  title?: string;
}

/** What the lines over several charts are, where the charts share no strip; nothing where there are none. */
export function ChangeList({ lines, title = "Changes in this window" }: ChangeListProps): ReactElement | null {
  // What is below would be pushed away.
  if (lines === undefined) return <span data-loading />;
  if (lines.length === 0) return null;
  return (
    <ul className={styles["list"]} aria-label={title}>
      {lines.map((line, index) => (
        // Two changes can read the same.
        <li key={`${index} ${line}`}>
          <span aria-hidden="true">┆ </span>
          {line}
        </li>
      ))}
    </ul>
  );
}
