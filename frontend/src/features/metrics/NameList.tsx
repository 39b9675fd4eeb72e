import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useMemo, type ReactElement } from "react";

import { metricNamesQuery, type MetricName } from "@/api/metrics";
import { explain } from "@/api/problem";
import { count, plural } from "@/lib/format";
import { minutesText } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import { Button } from "@/ui/Button";
import { Choice } from "@/ui/Choice";
import { FilterText } from "@/ui/FilterText";
import { Filters } from "@/ui/Filters";
import { Page } from "@/ui/Page";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";
import { Table } from "@/ui/Table";
import { AddCollectorLink } from "@/widgets/AddCollectorLink";
import { useRefusal } from "@/widgets/useRefusal";
import { SavedViews } from "@/widgets/views/SavedViews";

import { Matches } from "./Matches";
import styles from "./Metrics.module.css";
import { DEFAULT_MINUTES, MINUTES, type MetricsSearch } from "./search";

const PER_PAGE = 100;
const VIEW_WORDS = { raw: "values", rate: "rate", quantiles: "p50, p90, p99" } as const;

export interface ListProps {
  search: MetricsSearch;
  window: TimeView;
  onSearch: (next: Partial<MetricsSearch>) => void;
}

/** Metric names, searchable by parts of the name. */
export function NameList({ search, window, onSearch }: ListProps): ReactElement {
  const filter = useCallback((q: string | undefined) => onSearch({ q }), [onSearch]);
  const { data, isError, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(metricNamesQuery(search.q ?? "", { match: search.match, resource: search.resource }, window, PER_PAGE));
  const items = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const first = data?.pages[0];
  const minutes = search.minutes ?? DEFAULT_MINUTES;
  return (
    <Page title="Metrics" lead="What Prometheus, Grafana Alloy, or an OpenTelemetry Collector sends by remote write, by name and label." actions={<SavedViews />}>
      <Filters>
        <FilterText label="Parts of a metric name" value={search.q} onChange={filter} />
        <Choice label="Window" options={MINUTES.map((choice) => [choice, minutesText(choice)])} value={minutes} onChange={(choice) => onSearch({ minutes: choice === DEFAULT_MINUTES ? undefined : choice })} />
        <Matches search={search} onSearch={onSearch} />
      </Filters>
      {first === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={8} height={40} label="Loading metrics" />
        )
      ) : items.length === 0 ? (
        <Nothing search={search} onSearch={onSearch} />
      ) : (
        <>
          <p className={styles["status"]} role="status">
            {items.length < first.found ? `${count(items.length)} of ${plural(first.found, "metric")}` : plural(first.found, "metric")}, {plural(first.series, "series", "series")}.
          </p>
          <Names items={items} search={search} />
          {hasNextPage && (
            <Button onClick={() => void fetchNextPage()} disabled={isFetchingNextPage}>
              Show more
            </Button>
          )}
        </>
      )}
    </Page>
  );
}

function Names({ items, search }: { items: readonly MetricName[]; search: MetricsSearch }): ReactElement {
  return (
    <Table label="Metrics">
      <thead>
        <tr>
          <th scope="col">Metric</th>
          <th scope="col" data-wide>
            Type
          </th>
          <th scope="col">Shown as</th>
          <th scope="col" data-number>
            Series
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map((one) => (
          <tr key={one.name} className={styles["row"]}>
            <td className={styles["name"]}>
              <Link to="/explore/metrics" search={{ ...search, q: undefined, view: undefined, name: one.name }}>
                {one.name}
              </Link>
              {one.help !== null && <p>{one.help}</p>}
            </td>
            <td data-wide>{one.type}</td>
            <td>{VIEW_WORDS[one.view]}</td>
            <td data-number>{count(one.series)}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

function Nothing({ search, onSearch }: Omit<ListProps, "window">): ReactElement {
  const refusal = useRefusal("collectors:write");
  if (search.q !== undefined || search.match !== undefined || search.resource !== undefined) {
    return (
      <EmptyState title="No metrics match" action={<Button onClick={() => onSearch({ q: undefined, match: undefined, resource: undefined })}>Clear filter</Button>}>
        <p>The name must contain every word. Shorten the text, remove a label filter, or choose a longer window.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No metrics from Prometheus in this window" action={<AddCollectorLink>Add a sender</AddCollectorLink>}>
      <p>Metrics appear here once Prometheus, Grafana Alloy, or an OpenTelemetry Collector sends them by remote write.</p>
      {refusal !== null && <p>{refusal}</p>}
    </EmptyState>
  );
}
