import { Link } from "@tanstack/react-router";
import type { ReactElement, Ref } from "react";

import { SLOW_US } from "@/api/catalogue.gen";
import type { DnsHop } from "@/api/dns";
import { count, microseconds, percent } from "@/lib/format";
import { SeverityChip } from "@/widgets/Severity";

import styles from "./Path.module.css";
import { figuresOf, latencyBar, rate } from "./path";

const KINDS = { clients: "", server: "", upstream: "Upstream" } as const;

/** One hop: what it is, how long queries take there, and how many it holds at once. */
export function HopCard({ hop, ref }: { hop: DnsHop; ref?: Ref<HTMLElement> }): ReactElement {
  const slow = hop.p99_us !== null && hop.p99_us > SLOW_US;
  const where = hop.addresses.slice(0, 2).join(", ");
  return (
    <article ref={ref} className={styles["hop"]} data-kind={hop.kind} data-hot={hop.incidents.length > 0} aria-label={hop.name}>
      <header>
        <h3>{hop.cgroup_id === null ? hop.name : <Link to="/resources/$resourceId" params={{ resourceId: hop.cgroup_id }}>{hop.name}</Link>}</h3>
        <p>
          {hop.kind === "server" ? [hop.software, hop.version].filter((part) => part !== null).join(" ") : KINDS[hop.kind]}
          {where !== "" && where !== hop.name && (
            <span className={styles["address"]}>
              {where}
              {hop.addresses.length > 2 && ` and ${hop.addresses.length - 2} more`}
            </span>
          )}
        </p>
      </header>
      {hop.incidents.map((incident) => (
        <Link key={incident.id} to="/incidents/$incidentId" params={{ incidentId: incident.id }} className={styles["incident"]}>
          <SeverityChip severity={incident.severity} /> {incident.title}
        </Link>
      ))}
      {hop.p50_us !== null && (
        <div className={styles["latency"]}>
          <p data-hot={slow}>
            <span>p50 {microseconds(hop.p50_us)}</span>
            <strong>p99 {microseconds(hop.p99_us)}</strong>
            {hop.max_us !== null && <span>slowest {microseconds(hop.max_us)}</span>}
          </p>
          <LatencyBar hop={hop} slow={slow} />
          {hop.own_p99_us !== null && (
            <p className={styles["own"]} title={`From ${count(hop.matched_queries)} queries seen here and at an upstream`}>
              own time: p50 {microseconds(hop.own_p50_us)}, <strong data-hot={hop.own_p99_us > SLOW_US}>p99 {microseconds(hop.own_p99_us)}</strong>, slowest {microseconds(hop.own_max_us)}
            </p>
          )}
        </div>
      )}
      <dl className={styles["figures"]}>
        {figuresOf(hop).map(({ label, value, hot = false }) => (
          <div key={label} data-hot={hot}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {hop.child_limit !== null && hop.children !== null && <ChildMeter running={hop.children} limit={hop.child_limit} waiting={hop.backlog ?? 0} />}
      {hop.clients.length > 0 && (
        <ul className={styles["clients"]} aria-label="Busiest clients">
          {hop.clients.map((client) => (
            <li key={client.address}>
              <span title={client.names.length > 0 ? `${client.names.join(", ")} (${client.address})` : client.address}>{client.names[0] ?? (client.address === "other" ? "all others" : client.address)}</span>
              <span data-hot={(client.error_ratio ?? 0) > 0.01}>
                {rate(client.queries_per_s)}
                {(client.error_ratio ?? 0) > 0 && `, ${percent(client.error_ratio)} failed`}
              </span>
            </li>
          ))}
        </ul>
      )}
      {hop.kind === "upstream" && <p className={styles["unseen"]}>Not on this node, or behind a Service address: measured only from the hop that queries it.</p>}
    </article>
  );
}

/** p50 to p99 on one log scale for all hops, 100 µs to 10 s, with a line above which an answer is slow. */
function LatencyBar({ hop, slow }: { hop: DnsHop; slow: boolean }): ReactElement | null {
  const bar = latencyBar(hop.p50_us, hop.p99_us);
  if (bar === null) return null;
  const limit = latencyBar(SLOW_US, SLOW_US);
  return (
    <div className={styles["bar"]} role="img" aria-label={`p50 ${microseconds(hop.p50_us)} to p99 ${microseconds(hop.p99_us)}${slow ? ", slow" : ""}`} title="Scale from 100 µs to 10 s, mark at 20 ms">
      <i className={styles["range"]} data-hot={slow} style={{ left: `${bar.left}%`, width: `${Math.min(bar.width, 100 - bar.left)}%` }} />
      <i className={styles["mark"]} style={{ left: `${limit?.left ?? 0}%` }} />
    </div>
  );
}

/** Children against their limit, and connections waiting beyond it. */
function ChildMeter({ running, limit, waiting }: { running: number; limit: number; waiting: number }): ReactElement {
  const top = Math.max(limit * 1.05, limit + waiting, running);
  const at = (value: number): string => `${(value / top) * 100}%`;
  return (
    <div className={styles["meter"]} role="img" aria-label={`${running} children of ${limit}${waiting > 0 ? `, ${waiting} connections in the accept queue` : ""}`}>
      <i className={styles["children"]} style={{ width: at(running) }} />
      {waiting > 0 && <i className={styles["waiting"]} style={{ left: at(limit), width: at(waiting) }} />}
      <i className={styles["limit"]} style={{ left: at(limit) }} />
    </div>
  );
}
