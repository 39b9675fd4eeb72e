import { Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";

import type { DnsClient, DnsClients } from "@/api/dns";
import { count, microseconds, percent, significant } from "@/lib/format";
import { EmptyState } from "@/ui/states";
import { Table, tableStyles } from "@/ui/Table";

import styles from "./Dns.module.css";

const SOURCES: Record<DnsClient["source"], string> = {
  resolv_conf: "from its resolv.conf",
  matching_resolv_conf: "the resolv.conf that fits what it asks",
  inferred: "from what it asks",
  none: "",
};

/** How many queries a look-up costs each client, and what would be left of them. */
export function ClientList({ clients }: { clients: DnsClients }): ReactElement {
  if (clients.items.length === 0) {
    return (
      <EmptyState title="No clients in this window">
        <p>Who asks is told by the lists of names that the collector writes every 10 s. Nothing was asked in this window, or its source “dns_names” is not available there.</p>
      </EmptyState>
    );
  }
  const most = Math.max(2, ...clients.items.map((client) => client.queries_per_lookup));
  return (
    <>
      <p className={styles["lead"]}>
        {clients.wasted > 0 ? (
          <>
            <strong>{percent(clients.queries > 0 ? clients.wasted / clients.queries : null)}</strong> of {count(clients.queries)} queries were denied only because of search domains: {significant(clients.queries_per_lookup, 2)} queries for a
            look-up that needs one.
          </>
        ) : (
          <>No query of {count(clients.queries)} was wasted on search domains.</>
        )}
        {clients.nonexistent > 0 && <> {count(clients.nonexistent)} more were for names that do not exist at all.</>}
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
          {open ? "Hide names" : "Which names"}
        </button>
      )}
      {open && (
        <div className={styles["lookups"]}>
          {client.search.length > 0 && (
            <p className={styles["dim"]}>
              Search domains ({SOURCES[client.source]}
              {client.ndots === null ? "" : `, ndots ${client.ndots}`}): <span className={styles["mono"]}>{client.search.join(" ")}</span>
            </p>
          )}
          <Table label={`Look-ups of ${first?.name ?? client.address}`}>
            <thead>
              <tr>
                <th scope="col">Looked up</th>
                <th scope="col">Type</th>
                <th scope="col">Answered as</th>
                <th scope="col" className={tableStyles["number"]}>Look-ups</th>
                <th scope="col" className={tableStyles["number"]}>Wasted</th>
                <th scope="col" className={tableStyles["number"]}>Queries each</th>
                <th scope="col" className={tableStyles["number"]}>Adds</th>
              </tr>
            </thead>
            <tbody>
              {client.costliest.map((one) => (
                <tr key={`${one.name} ${one.type}`}>
                  <th scope="row" className={styles["name"]}>{one.name}</th>
                  <td>{one.type}</td>
                  <td className={styles["name"]}>{one.answer === one.name ? "itself" : one.answer}</td>
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

/** Queries for each look-up, all bars on one scale. */
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
