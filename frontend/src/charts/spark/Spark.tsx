import type { ReactElement } from "react";

import styles from "./Spark.module.css";
import { bars, heightOf, stretches, type SparkScale } from "./spark";

export interface SparkProps {
  /** The figures in words, for screen readers. */
  label: string;
  values: readonly (number | null)[];
  scale: SparkScale;
  /** Bars above it are hot; a line marks it. null: none. */
  threshold: number | null;
  /** Ranges of the values that are marked above the bars. */
  marked?: readonly boolean[];
}

const WIDTH = 180;
const HEIGHT = 30;
/** More bars would be too thin to distinguish. */
const MOST = 90;
/** A value at the bottom of the scale must still be visible. */
const LEAST_PX = 2;
const MARK_PX = 3;

/** Values over time, one line of text high. */
export function Spark({ label, values, scale, threshold, marked = [] }: SparkProps): ReactElement {
  const line = threshold === null ? null : HEIGHT * (1 - heightOf(threshold, scale));
  return (
    <svg className={styles["spark"]} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <title>{label}</title>
      <line className={styles["ground"]} x1={0} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
      {bars(values, scale, MOST).map((bar) => {
        const height = Math.max(LEAST_PX, bar.y * HEIGHT);
        return <rect key={bar.x} data-hot={(threshold !== null && bar.value > threshold) || undefined} x={bar.x * WIDTH} y={HEIGHT - height} width={Math.max(1, bar.width * WIDTH - 0.6)} height={height} />;
      })}
      {line !== null && <line className={styles["threshold"]} x1={0} x2={WIDTH} y1={line} y2={line} />}
      {stretches(marked).map(([from, to]) => (
        <rect key={from} className={styles["marked"]} x={from * WIDTH} y={0} width={(to - from) * WIDTH} height={MARK_PX} />
      ))}
    </svg>
  );
}
