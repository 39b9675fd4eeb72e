import type { ReactElement } from "react";

import type { Schemas } from "@/api/client";
import { measure } from "@/lib/format";

import styles from "./Figures.module.css";

/** The impact as a strip of figures, as declared by the cause's area. */
export function Figures({ figures }: { figures: readonly Schemas["ImpactFigure"][] }): ReactElement | null {
  if (figures.length === 0) return null;
  return (
    <dl className={styles["figures"]}>
      {figures.map((figure) => (
        <div key={figure.id}>
          <dt>{figure.title}</dt>
          <dd data-hot={figure.hot || undefined}>{measure(figure.value, figure.unit)}</dd>
          {figure.detail !== null && <dd className={styles["detail"]}>{figure.detail}</dd>}
        </div>
      ))}
    </dl>
  );
}
