import type { ReactElement } from "react";

import type { DnsNames, DnsOrder } from "@/api/dns";
import { count, microseconds, percent } from "@/lib/format";
import { Choice } from "@/ui/Choice";
import { EmptyState } from "@/ui/states";
import { Table, tableStyles } from "@/ui/Table";

import styles from "./Dns.module.css";
import { rate } from "./path";
import { ORDERS } from "./search";

const LABELS: Record<DnsOrder, string> = { queries: "Most queries", nxdomain: "Most NXDOMAIN", time: "Most time" };

export function OrderTabs({ order, onOrder }: { order: DnsOrder; onOrder: (order: DnsOrder) => void }): ReactElement {
  return <Choice className={styles["order"]} label="Sort names by" options={ORDERS.map((one) => [one, LABELS[one]])} value={order} onChange={onOrder} />;
}

/** The names with the most queries, and their cost. */
export function NamesTable({ names }: { names: DnsNames }): ReactElement {
  if (names.items.length === 0) {
    return (
      <EmptyState title="No names in this window">
        <p>The collector lists the most-queried names every 10 s, from the packets of the servers on its node. No queries were seen in this window, or its source dns_names is unavailable.</p>
      </EmptyState>
    );
  }
  const most = Math.max(...names.items.map((item) => item.share_ratio));
  return (
    <>
      <Table label="Most expensive names">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Type</th>
            <th scope="col" className={tableStyles["number"]}>Queries</th>
            <th scope="col">Share</th>
            <th scope="col" className={tableStyles["number"]}>NXDOMAIN</th>
            <th scope="col" className={tableStyles["number"]}>SERVFAIL</th>
            <th scope="col" className={tableStyles["number"]}>Mean latency</th>
            <th scope="col" className={tableStyles["number"]}>Total time</th>
            <th scope="col" className={tableStyles["number"]}>Clients</th>
          </tr>
        </thead>
        <tbody>
          {names.items.map((item) => (
            <tr key={`${item.name} ${item.type}`}>
              <th scope="row" className={styles["name"]}>{item.name}</th>
              <td>{item.type}</td>
              <td className={tableStyles["number"]}>
                {count(item.queries)} <span className={tableStyles["dim"]}>{rate(item.queries_per_s)}</span>
              </td>
              <td>
                <span className={styles["share"]} title={percent(item.share_ratio)}>
                  <i data-hot={item.nxdomain_ratio > 0.5} style={{ width: `${(item.share_ratio / most) * 100}%` }} />
                </span>
                <span className={styles["shareText"]}>{percent(item.share_ratio)}</span>
              </td>
              <td className={tableStyles["number"]} data-hot={item.nxdomain_ratio > 0.5}>
                {percent(item.nxdomain_ratio)}
              </td>
              <td className={tableStyles["number"]} data-hot={item.servfail_ratio > 0}>
                {percent(item.servfail_ratio)}
              </td>
              <td className={tableStyles["number"]}>{microseconds(item.mean_us)}</td>
              <td className={tableStyles["number"]}>{microseconds(item.total_us)}</td>
              <td className={tableStyles["number"]}>{count(item.clients)}</td>
            </tr>
          ))}
        </tbody>
      </Table>
      <p className={styles["foot"]}>
        {count(names.queries)} queries in {count(names.seconds)} s, {percent(names.queries > 0 ? names.nxdomain / names.queries : null)} of them NXDOMAIN. The name lists cover {percent(names.listed_ratio)} of all queries.
      </p>
    </>
  );
}
