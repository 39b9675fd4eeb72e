import type { ReactElement } from "react";

import styles from "./CallMap.module.css";
import { LEVELS } from "./words";

/** What the lines and marks mean. */
export function Legend(): ReactElement {
  return (
    <ul className={styles["legend"]} aria-label="Legend">
      {LEVELS.map(({ id, mark, text }) => (
        <li key={id}>
          <Sample level={id} isDns={false} />
          {mark !== "" && <span aria-hidden="true">{mark} </span>}
          {text}
        </li>
      ))}
      <li>
        <Sample level="calm" isDns />
        DNS
      </li>
    </ul>
  );
}

function Sample({ level, isDns }: { level: string; isDns: boolean }): ReactElement {
  return (
    <svg className={styles["sample"]} viewBox="0 0 40 12" width="40" height="12" aria-hidden="true">
      <path className={styles["line"]} data-level={level} d="M0 6H33" />
      <path className={styles["arrow"]} data-level={level} data-dns={isDns || undefined} d={arrowPath(39, 6, "right")} />
    </svg>
  );
}

/** A triangle whose tip is at a point. */
export function arrowPath(x: number, y: number, direction: "right" | "left"): string {
  const back = direction === "right" ? x - 8 : x + 8;
  return `M${x} ${y} L${back} ${y - 4.5} L${back} ${y + 4.5}z`;
}
