import { useCallback, type ReactElement } from "react";

import { FilterText } from "@/ui/FilterText";

import { KINDS, type ResourceListSearch } from "./search";
import styles from "./Resources.module.css";

const LABELS: Record<(typeof KINDS)[number], string> = {
  cgroup: "Containers and cgroups",
  process: "Processes",
  dns_server: "DNS servers",
  dns_path: "DNS clients → servers",
  tcp_server: "TCP servers",
  tcp_upstream: "TCP upstreams",
  probe: "Probes",
  node: "Nodes",
};

export function ResourceFilters({ search, onChange }: { search: ResourceListSearch; onChange: (next: ResourceListSearch) => void }): ReactElement {
  const filter = useCallback((q: string | undefined) => onChange({ ...search, q }), [search, onChange]);
  return (
    <div className={styles["filters"]} role="search">
      <select aria-label="Kind" value={search.kind ?? "cgroup"} onChange={(event) => onChange({ ...search, kind: KINDS.find((kind) => kind === event.target.value) })}>
        {KINDS.map((kind) => (
          <option key={kind} value={kind}>
            {LABELS[kind]}
          </option>
        ))}
      </select>
      <FilterText label="Name or path" value={search.q} onChange={filter} />
      <label>
        <input type="checkbox" checked={search.throttled === true} onChange={(event) => onChange({ ...search, throttled: event.target.checked ? true : undefined })} />
        Throttled in the last 15 minutes
      </label>
      <label>
        <input type="checkbox" checked={search.all === true} onChange={(event) => onChange({ ...search, all: event.target.checked ? true : undefined })} />
        Include inactive
      </label>
    </div>
  );
}
