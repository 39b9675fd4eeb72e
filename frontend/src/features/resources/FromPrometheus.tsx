import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState, type ReactElement } from "react";

import { metricNamesQuery, metricSeriesQuery, type MetricName } from "@/api/metrics";
import { explain } from "@/api/problem";
import type { ResourceDetail } from "@/api/resources";
import { ChangeList } from "@/charts/changes/ChangeList";
import { linesInView, type ChartChange } from "@/charts/changes/changes";
import { count, plural } from "@/lib/format";
import { labelsText } from "@/lib/labels";
import { US_PER_S } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import { Button } from "@/ui/Button";
import { FilterText } from "@/ui/FilterText";
import { Section } from "@/ui/Section";
import { ErrorState, Skeleton } from "@/ui/states";
import { Async } from "@/widgets/Async";
import { MetricFigure } from "@/widgets/MetricFigure";
import { useChanges } from "@/widgets/useChanges";

import styles from "./Resources.module.css";

const PER_PAGE = 12;
const NONE: readonly ChartChange[] = [];
const POINTS = 200;
const STEP_US = 15 * US_PER_S;
/** Minimum samples for a line. */
const SHORTEST_US = 15 * 60 * US_PER_S;

/** Metrics from Prometheus and others that belong to the resource, by labels or addresses. Nothing if there are none. */
export function FromPrometheus({ resource, window }: { resource: ResourceDetail; window: TimeView }): ReactElement | null {
  const [search, setSearch] = useState<string>();
  const toUs = Math.ceil(window.toUs / STEP_US) * STEP_US;
  const fromUs = Math.min(Math.floor(window.fromUs / STEP_US) * STEP_US, toUs - SHORTEST_US);
  const shown = useMemo<TimeView>(() => ({ fromUs, toUs }), [fromUs, toUs]);
  const { data, isError, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(metricNamesQuery(search ?? "", { resource: resource.id }, shown, PER_PAGE));
  const changes = useChanges(resource.id, shown);
  const first = data?.pages[0];
  const items = data?.pages.flatMap((page) => page.items) ?? [];
  if (first?.found === 0 && search === undefined && resource.kind !== "external") return null;
  return (
    <div style={{ marginTop: 28 }}>
      <Section
        title="From Prometheus"
        note={first === undefined ? "Metrics that other systems send for this resource." : `${plural(first.found, "metric")}, ${plural(first.series, "series", "series")} that other systems send for this resource, matched by labels and addresses.`}
        aside={<FilterText label="Parts of a metric name" value={search} onChange={setSearch} />}
      >
        {first === undefined ? (
          isError ? (
            <ErrorState {...explain(error)} onRetry={() => void refetch()} />
          ) : (
            <Skeleton lines={4} height={28} label="Loading metrics from Prometheus" />
          )
        ) : first.found === 0 ? (
          <p className={styles["dim"]}>{search === undefined ? "No samples in this window. Choose a longer one." : "No metrics match. Shorten the text."}</p>
        ) : (
          <>
            <ChangeList lines={changes === undefined ? undefined : linesInView(changes, shown)} title="Changes in the window of these charts" />
            <div className={styles["charts"]}>
              {items.map((metric) => (
                <Figure key={metric.name} resource={resource} metric={metric} window={shown} changes={changes ?? NONE} />
              ))}
            </div>
          </>
        )}
        {hasNextPage && first !== undefined && (
          <p style={{ marginTop: 14 }}>
            <Button onClick={() => void fetchNextPage()} disabled={isFetchingNextPage}>
              Show more: {count(items.length)} of {count(first.found)} shown
            </Button>
          </p>
        )}
      </Section>
    </div>
  );
}

function wayTo(labelSets: number): string {
  return labelSets === 1 ? "Explore" : `1 of ${count(labelSets)} label sets shown`;
}

/** The first label set of a metric, and a link to the others. */
function Figure({ resource, metric, window, changes }: { resource: ResourceDetail; metric: MetricName; window: TimeView; changes: readonly ChartChange[] }): ReactElement {
  const { data, isError, error, refetch } = useInfiniteQuery(metricSeriesQuery(metric.name, { resource: resource.id }, window, { points: POINTS, limit: 1 }));
  return (
    <Async query={{ data: data?.pages[0], isError, error, refetch }} label={`Loading ${metric.name}`}>
      {(page) => {
        const [series] = page.items;
        if (series === undefined) return <p className={styles["dim"]}>{metric.name}: no samples in this window.</p>;
        return (
          <MetricFigure
            title={metric.name}
            page={page}
            series={series}
            changes={changes}
            action={
              <p className={styles["set"]} title={labelsText(series.labels)}>
                <Link to="/explore/metrics" search={{ name: metric.name, resource: resource.id }} aria-label={`${wayTo(page.found)}: ${metric.name}`}>
                  {wayTo(page.found)}
                </Link>{" "}
                {labelsText(series.labels)}
              </p>
            }
          />
        );
      }}
    </Async>
  );
}
