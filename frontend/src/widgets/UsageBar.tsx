import type { ReactElement } from "react";

import { cpus } from "@/lib/format";

import styles from "./UsageBar.module.css";

export interface UsageBarProps {
  mean: number | null;
  peak: number | null;
  limit: number | null;
}

/** The mean as a bar, the highest 100 ms as a mark, and the limit as a dashed line, on one scale. */
export function UsageBar({ mean, peak, limit }: UsageBarProps): ReactElement | null {
  if (mean === null) return null;
  const scale = Math.max(limit ?? 0, peak ?? 0, mean, 0.05) * 1.08;
  const at = (value: number): string => `${(value / scale) * 100}%`;
  const over = limit !== null && peak !== null && peak > limit;
  const label = `Mean ${cpus(mean)}, peak ${cpus(peak)} in 100 ms, ${limit === null ? "no limit" : `limit ${cpus(limit)}`}`;
  return (
    <div className={styles["bar"]} role="img" aria-label={label} title={label}>
      {peak !== null && <i className={styles["peak"]} data-over={over} style={{ width: at(peak) }} />}
      <i className={styles["mean"]} style={{ width: at(mean) }} />
      {limit !== null && <i className={styles["limit"]} style={{ left: at(limit) }} />}
    </div>
  );
}
