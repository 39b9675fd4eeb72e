import { Link } from "@tanstack/react-router";
import { useMemo, type ReactElement } from "react";

import type { ContainerItem, ContainerOrder, Containers } from "@/api/containers";
import { Spark } from "@/charts/spark/Spark";
import { cpuScale, type SparkScale } from "@/charts/spark/spark";
import { namesOf, tickSearch, tickTime } from "@/lib/container";
import { bytes, cpus, microseconds, MISSING } from "@/lib/format";
import { bothZones } from "@/lib/time";
import { Table, tableStyles } from "@/ui/Table";
import { Time, useNowUs } from "@/ui/Time";
import { SortHeadings, type SortColumn } from "@/widgets/SortHeadings";

import styles from "./Containers.module.css";
import { SORTING, zoneOf, type ResourceListSearch } from "./search";
import { peaksText, throttledText } from "./words";

export interface ContainerTableProps {
  items: readonly ContainerItem[];
  page: Containers;
  search: ResourceListSearch;
  onSearch: (search: ResourceListSearch) => void;
}

const COLUMNS: readonly SortColumn<ContainerOrder>[] = [
  { order: "name", title: "Container", isFigure: false },
  { order: "node", title: "Node", isFigure: false },
  { order: "worst", title: "Worst tick", isFigure: true },
  { order: "throttled", title: "Throttled in the range", isFigure: true },
  { order: "peak", title: "Peak 100 ms", isFigure: true },
  { order: "limit", title: "Limit", isFigure: true },
  { order: "mean", title: "Mean", isFigure: true },
  { order: "memory", title: "Memory, peak", isFigure: true },
  { order: "seen", title: "Last seen", isFigure: true },
];
/** The sparkline column is not sortable: its highest bar is the value of the next column. */
const SPARK_AT = 4;

/** One row per container; a click on a heading sorts by it. */
export function ContainerTable({ items, page, search, onSearch }: ContainerTableProps): ReactElement {
  const scale = useMemo(() => cpuScale(items.map((item) => ({ values: item.peaks, threshold: item.cpu_limit }))), [items]);
  const headings = { sorting: SORTING, search, onSearch };
  return (
    <Table label="Containers">
      <thead>
        <tr>
          <SortHeadings columns={COLUMNS.slice(0, SPARK_AT)} {...headings} />
          <th scope="col">
            <span className={styles["unsorted"]}>Worst 100 ms by {page.step_us === 60_000_000 ? "minute" : `${page.step_us / 60_000_000} min`}</span>
          </th>
          <SortHeadings columns={COLUMNS.slice(SPARK_AT)} {...headings} />
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <Row key={item.id} item={item} page={page} scale={scale} search={search} />
        ))}
      </tbody>
    </Table>
  );
}

function Row({ item, page, scale, search }: { item: ContainerItem; page: Containers; scale: SparkScale; search: ResourceListSearch }): ReactElement {
  const names = namesOf(item);
  const isOver = item.cpu_limit !== null && item.cpu_peak !== null && item.cpu_peak > item.cpu_limit;
  return (
    <tr className={styles["row"]} data-quiet={!item.active || undefined}>
      <th scope="row" className={styles["name"]}>
        <Link to="/resources/$resourceId" params={{ resourceId: item.id }} search={windowOf(search)} title={item.key}>
          {names.main}
        </Link>
        {names.detail !== "" && <p>{names.detail}</p>}
      </th>
      <td className={tableStyles["nowrap"]}>{item.node.name}</td>
      <td className={tableStyles["number"]}>
        <Worst item={item} search={search} />
      </td>
      <td className={tableStyles["number"]} data-hot={(item.throttled_us ?? 0) > 0 || undefined}>
        {throttledText(item)}
      </td>
      <td>
        <Spark label={peaksText(item, page.from_us, page.step_us, zoneOf(search))} values={item.peaks} scale={scale} threshold={item.cpu_limit} marked={item.throttled} />
      </td>
      <td className={tableStyles["number"]} data-hot={isOver || undefined}>
        {cpus(item.cpu_peak)}
      </td>
      <td className={tableStyles["number"]}>{item.cpu_limit === null ? <span className={tableStyles["dim"]}>none known</span> : cpus(item.cpu_limit)}</td>
      <td className={tableStyles["number"]}>{cpus(item.cpu_used)}</td>
      <td className={tableStyles["number"]}>{bytes(item.memory_peak_bytes)}</td>
      <td className={tableStyles["number"]}>
        {!item.active && "gone, "}
        <Time at={item.last_seen_at} />
      </td>
    </tr>
  );
}

/** A link to the tick. "Not throttled" and "not measured" are different. */
function Worst({ item, search }: { item: ContainerItem; search: ResourceListSearch }): ReactElement {
  const now = useNowUs();
  const worst = item.worst_tick;
  if (worst === null) return <span className={tableStyles["dim"]}>{item.throttled_us === null ? "not measured" : MISSING}</span>;
  return (
    <Link to="/resources/$resourceId" params={{ resourceId: item.id }} search={tickSearch(worst)} title={bothZones(worst.at_us, 1)} className={styles["tick"]}>
      <span aria-hidden="true">▲ </span>
      {microseconds(worst.throttled_us)}
      <span className={styles["at"]}>{tickTime(worst, now, zoneOf(search))}</span>
    </Link>
  );
}

/** The container's page shows the list's range if that is absolute. */
function windowOf({ from, to }: ResourceListSearch): { minutes?: number; to?: number } {
  return from === undefined || to === undefined ? {} : { minutes: Math.ceil((to - from) / 60_000_000), to };
}
