import { useCallback, type ReactElement } from "react";

import { Choice } from "@/ui/Choice";
import { FilterText } from "@/ui/FilterText";
import { Filters } from "@/ui/Filters";

import type { IncidentSearch } from "./search";

const STATES = [
  ["active", "Open"],
  ["closed", "Ended"],
  ["all", "All"],
] as const;

export function IncidentFilters({ search, onChange }: { search: IncidentSearch; onChange: (next: IncidentSearch) => void }): ReactElement {
  const state = search.state ?? "active";

  const filter = useCallback((q: string | undefined) => onChange({ ...search, q }), [search, onChange]);
  return (
    <Filters>
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
      <select
        aria-label="Muted"
        value={search.muted ?? ""}
        onChange={(event) => onChange({ ...search, muted: (["yes", "no"] as const).find((one) => one === event.target.value) })}
      >
        <option value="">Muted or not</option>
        <option value="no">Not muted</option>
        <option value="yes">Muted</option>
      </select>
      <select aria-label="Order" value={search.order ?? ""} onChange={(event) => onChange({ ...search, order: event.target.value === "worst" ? "worst" : undefined })}>
        <option value="">Newest first</option>
        <option value="worst">Worst first</option>
      </select>
      <FilterText label="Filter incidents" value={search.q} onChange={filter} />
    </Filters>
  );
}

const SEVERITIES = ["critical", "warning", "info"] as const;
