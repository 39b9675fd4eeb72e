import type { ReactElement } from "react";

import { useLive } from "@/api/live";

import styles from "./Shell.module.css";

/** Whether the page updates live. */
export function LiveIndicator(): ReactElement {
  const live = useLive();
  return (
    <span className={styles["live"]} data-live={live} title={live ? "Updates arrive live" : "Disconnected from live updates, reconnecting"}>
      <i aria-hidden="true" />
      <span>{live ? "live" : "connecting"}</span>
    </span>
  );
}
