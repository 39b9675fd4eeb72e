import type { ReactElement } from "react";

import { Time } from "@/ui/Time";

import styles from "./History.module.css";

interface HistoryEntry {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly detail: string | null;
}

/** What happened to the incident, newest first. */
export function History({ history }: { history: readonly HistoryEntry[] }): ReactElement {
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
