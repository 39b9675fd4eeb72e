import { useEffect, useState, type ReactElement } from "react";

import { Choice } from "@/ui/Choice";

import styles from "./IncidentList.module.css";
import type { IncidentSearch } from "./search";

const STATES = [
  ["active", "Open"],
  ["closed", "Resolved"],
  ["all", "All"],
] as const;

export function IncidentFilters({ search, onChange }: { search: IncidentSearch; onChange: (next: IncidentSearch) => void }): ReactElement {
  const [text, setText] = useState(search.q ?? "");
  const state = search.state ?? "active";

  useEffect(() => {
    const timer = setTimeout(() => {
      if (text !== (search.q ?? "")) onChange({ ...search, q: text === "" ? undefined : text });
    }, 200);
    return () => clearTimeout(timer);
  }, [text, search, onChange]);

  return (
    <div className={styles["filters"]} role="search">
      <Choice label="State" options={STATES} value={state} onChange={(value) => onChange({ ...search, state: value === "active" ? undefined : value })} />
      <select
        aria-label="Severity"
        value={search.severity ?? ""}
        onChange={(event) => onChange({ ...search, severity: SEVERITIES.find((one) => one === event.target.value) })}
      >
        <option value="">All severities</option>
        {SEVERITIES.map((severity) => (
          <option key={severity} value={severity}>
            {severity}
          </option>
        ))}
      </select>
      <input className={styles["search"]} type="search" placeholder="Filter incidents" aria-label="Filter incidents" value={text} onChange={(event) => setText(event.target.value)} />
    </div>
  );
}

const SEVERITIES = ["critical", "warning", "info"] as const;
