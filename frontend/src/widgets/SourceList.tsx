import type { ReactElement } from "react";

import type { Schemas } from "@/api/client";

import styles from "./SourceList.module.css";

const STATES = {
  active: { mark: "✓", text: "active" },
  degraded: { mark: "◐", text: "degraded" },
  unavailable: { mark: "✕", text: "unavailable" },
} as const;

/** State of each collector source, and what it needs. */
export function SourceList({ sources }: { sources: readonly Schemas["SourceItem"][] }): ReactElement {
  if (sources.length === 0) return <p className={styles["detail"]}>The collector has not reported its sources yet.</p>;
  const worst = [...sources].sort((a, b) => Object.keys(STATES).indexOf(b.state) - Object.keys(STATES).indexOf(a.state));
  return (
    <ul className={styles["sources"]}>
      {worst.map((source) => (
        <li key={source.name} data-state={source.state}>
          <span className={styles["state"]}>
            <span aria-hidden="true">{STATES[source.state].mark}</span> {STATES[source.state].text}
          </span>
          <span>
            <code>{source.name}</code>
            {source.detail !== "" && <span className={styles["detail"]}> {source.detail}</span>}
            {source.needs !== "" && <span className={styles["needs"]}>Needs {source.needs}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}
