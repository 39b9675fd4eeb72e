import type { ReactElement, ReactNode } from "react";

import styles from "./Filters.module.css";

/** What narrows the list below: fields, choices, and how much is left. */
export function Filters({ children }: { children: ReactNode }): ReactElement {
  return (
    <div className={styles["filters"]} role="search">
      {children}
    </div>
  );
}
