import { Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";

import type { DnsClient, DnsClients } from "@/api/dns";
import { count, microseconds, percent, significant } from "@/lib/format";
import { EmptyState } from "@/ui/states";
import { Table, tableStyles } from "@/ui/Table";

import styles from "./Dns.module.css";

const SOURCES: Record<DnsClient["source"], string> = {
  resolv_conf: "from its resolv.conf",
  matching_resolv_conf: "from the resolv.conf that matches its queries",
  inferred: "inferred from its queries",
  none: "",
};

/** Queries per lookup for each client, now and at best. */
export function ClientList({ clients }: { clients: DnsClients }): ReactElement {
  if (clients.items.length === 0) {
    return (
      <EmptyState title="No clients in this window">
        <p>Clients come from the lists of names that the collector sends every 10 s. No queries were seen in this window, or its source dns_names is unavailable.</p>
      </EmptyState>
    );
  }
  const most = Math.max(2, ...clients.items.map((client) => client.queries_per_lookup));
  return (
    <>
      <p className={styles["lead"]}>
        {clients.wasted > 0 ? (
          <>
            <strong>{percent(clients.queries > 0 ? clients.wasted / clients.queries : null)}</strong> of {count(clients.queries)} queries were wasted on search domains: {significant(clients.queries_per_lookup, 2)} queries per lookup instead of 1.
          </>
        ) : (
          <>0 of {count(clients.queries)} queries were wasted on search domains.</>
        )}
        {clients.nonexistent > 0 && <> {count(clients.nonexistent)} more were for names that do not exist.</>}
      </p>
      <ul className={styles["clients"]}>
        {clients.items.map((client) => (
          <ClientRow key={client.address} client={client} most={most} />
        ))}
      </ul>
    </>
  );
}

function ClientRow({ client, most }: { client: DnsClient; most: number }): ReactElement {
  const [open, setOpen] = useState(false);
  const first = client.workloads[0];
  return (
    <li className={styles["client"]}>
      <div className={styles["who"]}>
        <h3>
          {first === undefined ? (
            client.address
          ) : (
            <Link to="/resources/$resourceId" params={{ resourceId: first.id }}>
              {first.name}
            </Link>
          )}
          {client.workloads.length > 1 && <small> or {client.workloads.length - 1} more</small>}
        </h3>
        <p className={styles["dim"]}>
          {first !== undefined && <span className={styles["mono"]}>{client.address}</span>} {count(client.queries)} queries, {count(client.wasted)} wasted
        </p>
      </div>
      <dl className={styles["bars"]}>
        <Bar label="now" value={client.queries_per_lookup} most={most} hot={client.wasted > 0} />
        {client.best_ndots !== null && <Bar label={`ndots:${client.best_ndots.ndots}`} value={client.best_ndots.queries_per_lookup} most={most} />}
        {client.wasted > 0 && <Bar label="trailing dot" value={1} most={most} />}
      </dl>
      {client.costliest.length > 0 && (
        <button type="button" className={styles["more"]} aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Hide names" : "Show names"}
        </button>
      )}
      {open && (
        <div className={styles["lookups"]}>
          {client.search.length > 0 && (
            <p className={styles["dim"]}>
              Search domains ({SOURCES[client.source]}
              {client.ndots === null ? "" : `, ndots:${client.ndots}`}): <span className={styles["mono"]}>{client.search.join(" ")}</span>
            </p>
          )}
          <Table label={`Lookups of ${first?.name ?? client.address}`}>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Type</th>
                <th scope="col">Resolved as</th>
                <th scope="col" className={tableStyles["number"]}>Lookups</th>
                <th scope="col" className={tableStyles["number"]}>Wasted</th>
                <th scope="col" className={tableStyles["number"]}>Queries per lookup</th>
                <th scope="col" className={tableStyles["number"]}>Added latency</th>
              </tr>
            </thead>
            <tbody>
              {client.costliest.map((one) => (
                <tr key={`${one.name} ${one.type}`}>
                  <th scope="row" className={styles["name"]}>{one.name}</th>
                  <td>{one.type}</td>
                  <td className={styles["name"]}>{one.answer === one.name ? "same name" : one.answer}</td>
                  <td className={tableStyles["number"]}>{count(one.lookups)}</td>
                  <td className={tableStyles["number"]}>{count(one.wasted)}</td>
                  <td className={tableStyles["number"]}>{significant(one.queries_per_lookup, 2)}</td>
                  <td className={tableStyles["number"]}>{microseconds(one.added_us)}</td>
                </tr>
              ))}
            </tbody>
          </Table>
        </div>
      )}
    </li>
  );
}

/** Queries per lookup, all bars on one scale. */
function Bar({ label, value, most, hot = false }: { label: string; value: number; most: number; hot?: boolean }): ReactElement {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        <span className={styles["queries"]} aria-hidden="true">
          <i data-hot={hot} data-good={!hot} style={{ width: `${(value / most) * 100}%` }} />
        </span>
        <span>{significant(value, 2)} {value === 1 ? "query" : "queries"}</span>
      </dd>
    </div>
  );
}
