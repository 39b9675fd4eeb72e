import type { ReactElement } from "react";

import type { Schemas } from "@/api/client";
import { percent } from "@/lib/format";

import styles from "./IntervalBar.module.css";

export interface IntervalBarProps {
  interval: Schemas["Interval"];
  /** The value now, drawn on the same scale. */
  now: number;
  /** Right end of the scale, the same for all bars below each other in one unit. */
  max: number;
  good: boolean;
  format?: (value: number) => string;
  /** Label of the current value. */
  nowLabel?: string;
}

/** A predicted value with its interval and the current value, from zero to a common end. */
export function IntervalBar({ interval, now, max, good, format = percent, nowLabel = "now" }: IntervalBarProps): ReactElement {
  const at = (value: number): string => `${Math.min(100, (value / max) * 100)}%`;
  const label = `Predicted ${format(interval.expected)}, between ${format(interval.low)} and ${format(interval.high)} (${percent(interval.level)} interval); ${nowLabel} ${format(now)}`;
  return (
    <div className={styles["bar"]} role="img" aria-label={label} title={label}>
      <i className={styles["range"]} data-good={good} style={{ left: at(interval.low), width: `max(3px, calc(${at(interval.high)} - ${at(interval.low)}))` }} />
      <i className={styles["expected"]} data-good={good} style={{ left: at(interval.expected) }} />
      <i className={styles["now"]} style={{ left: at(now) }} />
    </div>
  );
}
