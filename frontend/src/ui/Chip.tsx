import clsx from "clsx";
import type { ReactElement, ReactNode } from "react";

import styles from "./Chip.module.css";

export type ChipTone = "neutral" | "hot" | "hotSolid" | "ok" | "dim";

export interface ChipProps {
  tone?: ChipTone;
  title?: string;
  /** Minimum width in characters, so that a text that changes over time does not shift the layout. */
  leastCh?: number;
  children: ReactNode;
}

export function Chip({ tone = "neutral", title, leastCh, children }: ChipProps): ReactElement {
  return (
    <span className={clsx(styles["chip"], styles[tone])} title={title} style={leastCh === undefined ? undefined : { minWidth: `${leastCh}ch` }}>
      {children}
    </span>
  );
}
