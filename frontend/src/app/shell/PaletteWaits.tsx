import type { ReactElement } from "react";

import styles from "./CommandPalette.module.css";

export const PLACEHOLDER = "Incident, container, page, command…";

/** The palette's frame while its code loads: typed text appears at once. */
export function PaletteWaits({ text }: { text: string }): ReactElement {
  return (
    <div className={styles["overlay"]}>
      <div className={styles["dialog"]} role="status" aria-label="Loading search">
        <p className={styles["input"]}>{text === "" ? <span className={styles["hint"]}>{PLACEHOLDER}</span> : text}</p>
      </div>
    </div>
  );
}
