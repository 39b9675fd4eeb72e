import type { ReactElement, ReactNode } from "react";

import styles from "./SortHeading.module.css";
import { tableStyles } from "./Table";

export interface SortHeadingProps {
  children: ReactNode;
  /** For a numeric column, which is right-aligned. */
  isFigure: boolean;
  /** null: the table is not sorted by this column. */
  sorted: "ascending" | "descending" | null;
  onSort: () => void;
}

/** A heading that sorts the table by its column when clicked. */
export function SortHeading({ children, isFigure, sorted, onSort }: SortHeadingProps): ReactElement {
  return (
    <th scope="col" className={isFigure ? tableStyles["number"] : undefined} aria-sort={sorted ?? undefined}>
      <button type="button" className={styles["sort"]} data-figure={isFigure || undefined} onClick={onSort}>
        {children}
        <span aria-hidden="true">{sorted === null ? "" : sorted === "descending" ? "▼" : "▲"}</span>
      </button>
    </th>
  );
}
