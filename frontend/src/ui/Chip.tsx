import clsx from "clsx";
import type { ReactElement, ReactNode } from "react";

import styles from "./Chip.module.css";

export type ChipTone = "neutral" | "hot" | "hotSolid" | "ok" | "dim";

export interface ChipProps {
  tone?: ChipTone;
  title?: string;
  /** At least so many characters wide: one whose text grows as time goes by moves nothing beside and below it. */
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
