import type { ReactElement } from "react";

import type { Schemas } from "@/api/client";

import { figuresOf } from "./figures";
import styles from "./Figures.module.css";

/** The impact as a strip of figures. */
export function Figures({ impact }: { impact: Schemas["Impact"] }): ReactElement | null {
  const figures = figuresOf(impact);
  if (figures.length === 0) return null;
  return (
    <dl className={styles["figures"]}>
      {figures.map((figure) => (
        <div key={figure.label}>
          <dt>{figure.label}</dt>
          <dd data-hot={figure.hot || undefined}>{figure.value}</dd>
          {figure.detail !== null && <dd className={styles["detail"]}>{figure.detail}</dd>}
        </div>
      ))}
    </dl>
  );
}
