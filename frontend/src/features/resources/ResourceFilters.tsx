import { useCallback, type ReactElement } from "react";

import { FilterText } from "@/ui/FilterText";
import { Filters } from "@/ui/Filters";
import { useNowUs } from "@/ui/Time";
import { RangePicker } from "@/widgets/RangePicker";

import { DEFAULT_MINUTES, KINDS, LONGEST_MINUTES, MINUTES, zoneOf, type ResourceListSearch } from "./search";

const LABELS: Record<(typeof KINDS)[number], string> = {
  cgroup: "Containers",
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
  const now = useNowUs();
  const isContainers = (search.kind ?? "cgroup") === "cgroup";
  return (
    <Filters>
      <select aria-label="Kind" value={search.kind ?? "cgroup"} onChange={(event) => onChange({ ...search, kind: KINDS.find((kind) => kind === event.target.value) })}>
        {KINDS.map((kind) => (
          <option key={kind} value={kind}>
            {LABELS[kind]}
          </option>
        ))}
      </select>
      <FilterText label="Name or path" value={search.q} onChange={filter} />
      <Flag checked={search.throttled} onChange={(throttled) => onChange({ ...search, throttled })}>
        {isContainers ? "Throttled in the range" : "Throttled in the last 15 minutes"}
      </Flag>
      <Flag checked={search.all} onChange={(all) => onChange({ ...search, all })}>
        {isContainers ? "Include gone" : "Include inactive"}
      </Flag>
      {isContainers && (
        <Flag checked={search.every} onChange={(every) => onChange({ ...search, every })}>
          Include pods and slices
        </Flag>
      )}
      {isContainers && (
        <RangePicker
          choices={MINUTES}
          minutes={search.minutes ?? DEFAULT_MINUTES}
          range={search.from === undefined || search.to === undefined ? null : { fromUs: search.from, toUs: search.to }}
          zone={zoneOf(search)}
          longestMinutes={LONGEST_MINUTES}
          nowUs={now}
          onMinutes={(minutes) => onChange({ ...search, minutes: minutes === DEFAULT_MINUTES ? undefined : minutes, from: undefined, to: undefined })}
          onRange={(range) => onChange({ ...search, from: range?.fromUs, to: range?.toUs })}
          onZone={(zone) => onChange({ ...search, zone: zone === "utc" ? "utc" : undefined })}
        />
      )}
    </Filters>
  );
}

function Flag({ checked, onChange, children }: { checked: true | undefined; onChange: (checked: true | undefined) => void; children: string }): ReactElement {
  return (
    <label>
      <input type="checkbox" checked={checked === true} onChange={(event) => onChange(event.target.checked ? true : undefined)} />
      {children}
    </label>
  );
}
