import type { ReactElement } from "react";

import type { Schemas } from "@/api/client";
import { percent } from "@/lib/format";

import styles from "./IntervalBar.module.css";

export interface IntervalBarProps {
  interval: Schemas["Interval"];
  /** The share now, drawn on the same scale. */
  now: number;
  /** Right end of the scale, the same for all fixes. */
  max: number;
  good: boolean;
}

/** A predicted share with its interval, on the scale that all fixes of a finding have in common. */
export function IntervalBar({ interval, now, max, good }: IntervalBarProps): ReactElement {
  const at = (ratio: number): string => `${Math.min(100, (ratio / max) * 100)}%`;
  const label = `Predicted ${percent(interval.expected)}, between ${percent(interval.low)} and ${percent(interval.high)} (${percent(interval.level)} interval); now ${percent(now)}`;
  return (
    <div className={styles["bar"]} role="img" aria-label={label} title={label}>
      <i className={styles["range"]} data-good={good} style={{ left: at(interval.low), width: `max(3px, calc(${at(interval.high)} - ${at(interval.low)}))` }} />
      <i className={styles["expected"]} data-good={good} style={{ left: at(interval.expected) }} />
      <i className={styles["now"]} style={{ left: at(now) }} />
    </div>
  );
}
