import { useMemo, type ReactElement } from "react";

import type { TimeView } from "@/lib/timeView";

import { changeMarks, markLines, type ChartChange } from "./changes";
import styles from "./ChangeStrip.module.css";

/** What the lines over several charts are, where the charts share no strip; nothing where there are none. */
export function ChangeList({ changes, view }: { changes: readonly ChartChange[]; view: TimeView }): ReactElement | null {
  // As one mark: of many the first are told.
  const inside = useMemo(() => changeMarks(changes, view, 0).find(({ place }) => place === "in"), [changes, view]);
  if (inside === undefined) return null;
  return (
    <ul className={styles["list"]} aria-label="Changes in this window">
      {markLines(inside).map((line, index) => (
        <li key={`${index} ${line}`}>
          <span aria-hidden="true">┆ </span>
          {line}
        </li>
      ))}
    </ul>
  );
}
