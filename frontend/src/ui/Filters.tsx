import type { ReactElement, ReactNode } from "react";

import styles from "./Filters.module.css";

/** The filters of the list below: fields, choices, and the number of matches. */
export function Filters({ children }: { children: ReactNode }): ReactElement {
  return (
    <div className={styles["filters"]} role="search">
      {children}
    </div>
  );
}
