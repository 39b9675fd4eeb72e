import { Link } from "@tanstack/react-router";
import { useMemo, type ReactElement, type ReactNode } from "react";

import { SLOW_US } from "@/api/catalogue.gen";
import type { ServiceItem, ServiceOrder } from "@/api/services";
import { Spark } from "@/charts/spark/Spark";
import { commonScale, type SparkScale } from "@/charts/spark/spark";
import { microseconds, MISSING, percent } from "@/lib/format";
import { Chip } from "@/ui/Chip";
import { Table, tableStyles } from "@/ui/Table";
import { ObjectiveCell } from "@/widgets/objective/ObjectiveCell";
import { SeverityChip } from "@/widgets/Severity";
import { SortHeadings, type SortColumn } from "@/widgets/SortHeadings";

import { SORTING, type ServicesSearch } from "./search";
import styles from "./Services.module.css";
import { calledName, hopParts, rateText, serverErrorTexts, throttledText, worstText } from "./words";

export interface ServiceTableProps {
  items: readonly ServiceItem[];
  fromUs: number;
  search: ServicesSearch;
  onSearch: (search: ServicesSearch) => void;
}

const COLUMNS: readonly SortColumn<ServiceOrder>[] = [
  { order: "name", title: "Service", isFigure: false },
  // Next to the name: what is wrong must not be the column that scrolls out of view.
  { order: "stalls", title: "Stalls", isFigure: false },
  { order: "slow", title: "Over 20 ms", isFigure: true },
  { order: "p99", title: "p99", isFigure: true },
  { order: "p50", title: "p50", isFigure: true },
  { order: "worst", title: "Slowest by minute", isFigure: false },
  { order: "rate", title: "Rate", isFigure: true },
  { order: "failed", title: "Failed", isFigure: true },
  { order: "runtime", title: "Runtime", isFigure: false },
];

/** Two columns are not sortable: the objective, after the quantiles it is compared with, and the upstreams. */
const OBJECTIVE_AT = 5;
const ASKS_AT = 8;

/** One row per server; a click on a heading sorts by it. */
export function ServiceTable({ items, fromUs, search, onSearch }: ServiceTableProps): ReactElement {
  const scale = useMemo(() => commonScale(items.map((item) => item.worst_us)), [items]);
  const headings = { sorting: SORTING, search, onSearch };
  return (
    <Table label="Services">
      <thead>
        <tr>
          <SortHeadings columns={COLUMNS.slice(0, OBJECTIVE_AT)} {...headings} />
          <Unsorted>Objective</Unsorted>
          <SortHeadings columns={COLUMNS.slice(OBJECTIVE_AT, ASKS_AT)} {...headings} />
          <Unsorted>Upstreams</Unsorted>
          <SortHeadings columns={COLUMNS.slice(ASKS_AT)} {...headings} />
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <Row key={item.id} item={item} fromUs={fromUs} scale={scale} />
        ))}
      </tbody>
    </Table>
  );
}

function Unsorted({ children }: { children: string }): ReactElement {
  return (
    <th scope="col">
      <span className={styles["unsorted"]}>{children}</span>
    </th>
  );
}

function Row({ item, fromUs, scale }: { item: ServiceItem; fromUs: number; scale: SparkScale }): ReactElement {
  return (
    <tr className={styles["row"]}>
      <th scope="row" className={styles["name"]}>
        <ResourceLink id={item.id}>{item.name}</ResourceLink> <Chip tone="dim">{item.kind === "dns_server" ? "DNS" : "TCP"}</Chip>
        <p>
          {item.container !== null && (
            <>
              <ResourceLink id={item.container.id}>{item.container.name}</ResourceLink> on{" "}
            </>
          )}
          <ResourceLink id={item.node.id}>{item.node.name}</ResourceLink>
        </p>
      </th>
      <td>
        <Stalls item={item} />
      </td>
      <Figure text={percent(item.slow_ratio)} isHot={(item.slow_ratio ?? 0) > 0} />
      <Figure text={microseconds(item.p99_us)} isHot={(item.p99_us ?? 0) > SLOW_US} />
      <Figure text={microseconds(item.p50_us)} isHot={(item.p50_us ?? 0) > SLOW_US} />
      <td>
        <ObjectiveCell item={item} />
      </td>
      <td>
        <Spark label={worstText(item.worst_us, fromUs)} values={item.worst_us} scale={scale} threshold={SLOW_US} />
      </td>
      <td className={tableStyles["number"]}>{rateText(item)}</td>
      <Failed item={item} />
      <td>
        <Asks item={item} />
      </td>
      <td className={tableStyles["nowrap"]}>{item.runtime ?? MISSING}</td>
    </tr>
  );
}

function Figure({ text, isHot }: { text: string; isHot: boolean }): ReactElement {
  return (
    <td className={tableStyles["number"]} data-hot={isHot || undefined}>
      {text}
    </td>
  );
}

/** A client that closes its connection is not a server failure: only DNS and the status of HTTP and gRPC distinguish the two. */
function Failed({ item }: { item: ServiceItem }): ReactElement {
  const errors = serverErrorTexts(item);
  const isHot = (item.kind === "dns_server" && (item.failed_ratio ?? 0) > 0) || errors.length > 0;
  return (
    <td className={tableStyles["number"]} data-hot={isHot || undefined}>
      {percent(item.failed_ratio)}
      {errors.map((text) => (
        <p key={text} className={styles["errors"]}>
          {text}
        </p>
      ))}
    </td>
  );
}

/** Each upstream, with the time of that hop. */
function Asks({ item }: { item: ServiceItem }): ReactElement {
  if (item.asks.length === 0) return <span className={tableStyles["dim"]}>{MISSING}</span>;
  return (
    <ul className={styles["asks"]}>
      {item.asks.map((call) => (
        <li key={call.id}>
          <span aria-hidden="true">→ </span>
          <ResourceLink id={call.server?.id ?? call.id}>{calledName(call)}</ResourceLink>
          <p data-hot={(call.p99_us ?? 0) > SLOW_US || undefined}>
            {hopParts(call).map((part, at) => (
              <span key={part}>
                {at > 0 && " · "}
                <span className={tableStyles["nowrap"]}>{part}</span>
              </span>
            ))}
          </p>
        </li>
      ))}
    </ul>
  );
}

function Stalls({ item }: { item: ServiceItem }): ReactElement {
  const throttled = throttledText(item);
  return (
    <ul className={styles["stalls"]}>
      {item.incidents.map((incident) => (
        <li key={incident.id}>
          <SeverityChip severity={incident.severity} />{" "}
          <Link to="/incidents/$incidentId" params={{ incidentId: incident.id }}>
            {incident.title}
          </Link>
        </li>
      ))}
      {throttled !== null && <li className={styles["throttled"]}>▲ {throttled}</li>}
      {throttled === null && item.incidents.length === 0 && <li className={tableStyles["dim"]}>{item.throttled_ms_per_min === null ? "throttling not measured" : "not throttled"}</li>}
    </ul>
  );
}

function ResourceLink({ id, children }: { id: number; children: ReactNode }): ReactElement {
  return (
    <Link to="/resources/$resourceId" params={{ resourceId: id }}>
      {children}
    </Link>
  );
}
