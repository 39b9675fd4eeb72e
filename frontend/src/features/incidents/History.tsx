import type { ReactElement } from "react";

import type { Incident } from "@/api/incidents";
import { Time } from "@/ui/Time";

import styles from "./History.module.css";

/** What happened to the incident, newest first. */
export function History({ history }: { history: Incident["history"] }): ReactElement {
  return (
    <ol className={styles["history"]}>
      {history.toReversed().map((entry, index) => (
        <li key={`${entry.at}-${index}`}>
          <span className={styles["when"]}>
            <Time at={entry.at} style="clock" />
          </span>
          <span>
            <strong>{entry.action.replaceAll("_", " ")}</strong> by {entry.actor}
            {entry.detail !== null && entry.detail !== "" && <span className={styles["detail"]}>{entry.detail}</span>}
          </span>
        </li>
      ))}
    </ol>
  );
}
