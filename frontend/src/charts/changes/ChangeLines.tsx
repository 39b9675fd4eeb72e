import type { ReactElement } from "react";

import type { TimeView } from "@/lib/timeView";

import { changeLines, type ChartChange } from "./changes";
import styles from "./ChangeStrip.module.css";

/** A thin line over a chart at each change; the strip labels it. */
export function ChangeLines({ changes, view }: { changes: readonly ChartChange[]; view: TimeView }): ReactElement {
  return (
    <>
      {changeLines(changes, view).map((at, index) => (
        <span key={`${index} ${at}`} className={styles["line"]} data-change data-line style={{ left: `${at * 100}%` }} />
      ))}
    </>
  );
}
