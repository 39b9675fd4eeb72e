import type { ReactElement } from "react";

import { microseconds } from "@/lib/format";

import type { TimelineModel } from "./model";
import styles from "./Timeline.module.css";

/** What the marks mean: each by shape as well as by colour. */
export function Legend({ model, hasDns, hasGc }: { model: TimelineModel; hasDns: boolean; hasGc: boolean }): ReactElement {
  const rates = hasDns && model.answers.complete.length === 0;
  return (
    <ul className={styles["legend"]} aria-label="Legend">
      <li>
        <i className={styles["markBar"]} /> below the limit
      </li>
      <li>
        <i className={styles["markOver"]} /> over the limit
      </li>
      <li>
        <i className={styles["markLimit"]} /> limit
      </li>
      <li>
        <i className={styles["markThrottled"]} /> throttled
      </li>
      {hasGc && (
        <li>
          <i className={styles["markGc"]} /> GC cycle
        </li>
      )}
      {hasDns && (
        <>
          <li>
            <i className={styles["markDot"]} /> answer
          </li>
          <li>
            <i className={styles["markSlow"]} /> over {microseconds(model.slowThresholdUs)}
          </li>
        </>
      )}
      {rates && (
        <li>
          <i className={styles["markMedian"]} /> median of the tick
        </li>
      )}
      <li>
        <i className={styles["markGap"]} /> not recorded
      </li>
    </ul>
  );
}
