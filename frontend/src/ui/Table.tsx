import type { ReactElement, ReactNode } from "react";

import styles from "./Table.module.css";

export const tableStyles = styles;

/** A table with an accessible name that scrolls horizontally on narrow screens. */
export function Table({ label, children }: { label: string; children: ReactNode }): ReactElement {
  return (
    // Focusable, so that the keyboard can scroll it.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={styles["scroll"]} tabIndex={0} role="group" aria-label={`${label}, scrollable`}>
      <table className={styles["table"]} aria-label={label}>
        {children}
      </table>
    </div>
  );
}
