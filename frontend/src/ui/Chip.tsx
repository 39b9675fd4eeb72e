import clsx from "clsx";
import type { ReactElement, ReactNode } from "react";

import styles from "./Chip.module.css";

export type ChipTone = "neutral" | "hot" | "hotSolid" | "ok" | "dim";

export interface ChipProps {
  tone?: ChipTone;
  title?: string;
  children: ReactNode;
}

export function Chip({ tone = "neutral", title, children }: ChipProps): ReactElement {
  return (
    <span className={clsx(styles["chip"], styles[tone])} title={title}>
      {children}
    </span>
  );
}
