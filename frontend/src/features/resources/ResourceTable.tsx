import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import type { ResourceItem, ResourceKind } from "@/api/resources";
import { bytes, cpus, MISSING, percent, significant } from "@/lib/format";
import { Table, tableStyles } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { UsageBar } from "@/widgets/UsageBar";

import styles from "./Resources.module.css";
import type { TreeRow } from "./tree";

/** Column title of the load, by kind of server. */
const RATES: Partial<Record<ResourceKind, { title: string; of: "queries_per_second" | "requests_per_second" }>> = {
  dns_server: { title: "Queries/s", of: "queries_per_second" },
  tcp_server: { title: "Requests/s", of: "requests_per_second" },
};

export function ResourceTable({ rows, kind }: { rows: readonly TreeRow[]; kind: ResourceKind }): ReactElement {
  const hasCpu = kind === "cgroup" || kind === "process" || kind === "node";
  const rate = RATES[kind];
  const nodes = new Set(rows.map(({ item }) => item.node.id)).size;
  return (
    <Table label="Resources">
      <thead>
        <tr>
          <th scope="col">Name</th>
          {nodes > 1 && <th scope="col">Node</th>}
          {hasCpu && (
            <>
              <th scope="col" className={styles["usage"]}>CPU, last minute</th>
              <th scope="col" className={tableStyles["number"]}>Mean</th>
              <th scope="col" className={tableStyles["number"]}>Peak 100 ms</th>
              <th scope="col" className={tableStyles["number"]}>Limit</th>
              <th scope="col">Throttled</th>
              <th scope="col" className={tableStyles["number"]}>Memory</th>
            </>
          )}
          {rate !== undefined && <th scope="col" className={tableStyles["number"]}>{rate.title}</th>}
          <th scope="col" className={tableStyles["number"]}>Last seen</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ item, depth, label }) => (
          <tr key={item.id} data-quiet={!item.active || undefined} className={styles["resource"]}>
            <th scope="row" style={{ paddingLeft: depth * 18 }} className={styles["name"]}>
              <Link to="/resources/$resourceId" params={{ resourceId: item.id }} title={item.key}>
                {label}
              </Link>
            </th>
            {nodes > 1 && <td>{item.node.name}</td>}
            {hasCpu && <CpuCells item={item} />}
            {rate !== undefined && <RateCell value={item.usage[rate.of]} />}
            <td className={`${tableStyles["number"] ?? ""} ${tableStyles["dim"] ?? ""}`}>
              <Time at={item.last_seen_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

function RateCell({ value }: { value: number | null }): ReactElement {
  return <td className={tableStyles["number"]}>{value === null ? MISSING : significant(value)}</td>;
}

function CpuCells({ item }: { item: ResourceItem }): ReactElement {
  const { usage, cpu_limit: limit } = item;
  return (
    <>
      <td className={styles["usage"]}>
        <UsageBar mean={usage.cpu_used} peak={usage.cpu_peak} limit={limit} />
      </td>
      <td className={tableStyles["number"]}>{cpus(usage.cpu_used)}</td>
      <td className={tableStyles["number"]} data-hot={(limit !== null && usage.cpu_peak !== null && usage.cpu_peak > limit) || undefined}>
        {cpus(usage.cpu_peak)}
      </td>
      <td className={tableStyles["number"]}>{limit === null ? <span className={tableStyles["dim"]}>none</span> : cpus(limit)}</td>
      <td className={tableStyles["nowrap"]}>
        {item.throttled ? (
          <span className={styles["throttled"]}>
            <span aria-hidden="true">▲</span> {usage.throttled_ratio !== null && usage.throttled_ratio > 0 ? `${percent(usage.throttled_ratio)} of periods` : "in the last 15 min"}
          </span>
        ) : (
          <span className={tableStyles["dim"]}>{limit === null ? MISSING : "no"}</span>
        )}
      </td>
      <td className={tableStyles["number"]}>{bytes(usage.memory_bytes)}</td>
    </>
  );
}
