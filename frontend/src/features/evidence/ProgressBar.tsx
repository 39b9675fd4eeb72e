import type { ReactElement } from "react";

import styles from "./Evidence.module.css";

/** Progress, 0..1, visible and for screen readers. */
export function ProgressBar({ ratio, label }: { ratio: number; label: string }): ReactElement {
  const percent = Math.round(Math.min(1, Math.max(0, ratio)) * 100);
  return (
    <div className={styles["progress"]}>
      <div className={styles["track"]} role="progressbar" aria-label={label} aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100}>
        <span style={{ width: `${percent}%` }} />
      </div>
      <span className={styles["percent"]}>{percent} %</span>
    </div>
  );
}
