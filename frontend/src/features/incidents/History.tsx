import type { ReactElement, ReactNode } from "react";

import { Time } from "@/ui/Time";

import styles from "./History.module.css";

interface HistoryEntry {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly detail: string | null;
  /** When a note's author changed or deleted it. */
  readonly edited_at?: string | null;
  readonly deleted?: boolean;
}

interface HistoryProps<Entry extends HistoryEntry> {
  history: readonly Entry[];
  /** Actions on an entry. */
  below?: (entry: Entry) => ReactNode;
}

/** History of the incident, newest first. */
export function History<Entry extends HistoryEntry>({ history, below }: HistoryProps<Entry>): ReactElement {
  return (
    <ol className={styles["history"]}>
      {history
        .map((entry, index) => (
          // The index from the oldest entry is stable when new ones arrive.
          <li key={`${entry.at}-${index}`}>
            <span className={styles["when"]}>
              <Time at={entry.at} style="clock" />
            </span>
            <div>
              <strong>{entry.action.replaceAll("_", " ")}</strong> by {entry.actor}
              {entry.edited_at != null && (
                <span className={styles["when"]}>
                  , {entry.deleted === true ? "deleted" : "edited"} <Time at={entry.edited_at} style="clock" />
                </span>
              )}
              {entry.detail !== null && entry.detail !== "" && <span className={styles["detail"]}>{entry.detail}</span>}
              {below?.(entry)}
            </div>
          </li>
        ))
        .toReversed()}
    </ol>
  );
}
