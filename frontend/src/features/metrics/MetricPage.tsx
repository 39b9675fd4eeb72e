import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, type ReactElement } from "react";

import { metricLabelsQuery, metricSeriesQuery, type MetricCharts, type MetricFilter, type MetricView } from "@/api/metrics";
import { explain } from "@/api/problem";
import { ChangeList } from "@/charts/changes/ChangeList";
import { linesInView } from "@/charts/changes/changes";
import { count, plural } from "@/lib/format";
import { labelsText, splitLabels } from "@/lib/labels";
import { minutesText, US_PER_S } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import { Button } from "@/ui/Button";
import { Choice } from "@/ui/Choice";
import { Filters } from "@/ui/Filters";
import { Page } from "@/ui/Page";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";
import { MetricFigure, MetricOwner } from "@/widgets/MetricFigure";
import { useChangesOf } from "@/widgets/useChanges";
import { SavedViews } from "@/widgets/views/SavedViews";

import { AddMatch } from "./AddMatch";
import { Matches } from "./Matches";
import styles from "./Metrics.module.css";
import type { ListProps } from "./NameList";
import { DEFAULT_MINUTES, MINUTES } from "./search";

const PER_PAGE = 20;
const POINTS = 300;
const VIEW_TEXT: Record<MetricView, string> = { raw: "Values", rate: "Rate", quantiles: "Quantiles" };

/** The series of one metric, one chart per label set. */
export function MetricPage({ name, search, window, onSearch }: ListProps & { name: string }): ReactElement {
  const filter = useMemo<MetricFilter>(() => ({ match: search.match, resource: search.resource }), [search.match, search.resource]);
  const labels = useQuery(metricLabelsQuery(name, filter, window));
  const { data, isError, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(metricSeriesQuery(name, filter, window, { view: search.view, points: POINTS, limit: PER_PAGE }));
  const first = data?.pages[0];
  const isHistogram = name.endsWith("_bucket");
  const views: readonly MetricView[] = isHistogram ? ["quantiles", "rate", "raw"] : ["rate", "raw"];
  const telling = labels.data?.filter((one) => one.found > 1 && !(first?.view === "quantiles" && one.name === "le")) ?? [];
  return (
    <Page
      title={name}
      within={
        <Link to="/explore/metrics" search={{ ...search, name: undefined, view: undefined }}>
          Metrics
        </Link>
      }
      actions={<SavedViews />}
      lead={first === undefined || (first.found === 0 && first.help === null) ? undefined : `${first.help ?? "No description from its sender."} Type: ${first.type}.`}
    >
      <Filters>
        <Choice label="Shown as" options={views.map((view) => [view, VIEW_TEXT[view]])} value={first?.view ?? search.view ?? null} onChange={(view) => onSearch({ view })} />
        <Choice
          label="Window"
          options={MINUTES.map((choice) => [choice, minutesText(choice)])}
          value={search.minutes ?? DEFAULT_MINUTES}
          onChange={(choice) => onSearch({ minutes: choice === DEFAULT_MINUTES ? undefined : choice })}
        />
        <AddMatch labels={telling} onAdd={(match) => onSearch({ match: [...new Set([...(search.match ?? []), match])] })} />
        <Matches search={search} onSearch={onSearch} />
      </Filters>
      {first === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={4} height={120} label="Loading series" />
        )
      ) : first.found === 0 ? (
        <EmptyState title="No series match" action={search.match !== undefined && <Button onClick={() => onSearch({ match: undefined })}>Clear filter</Button>}>
          <p>Remove a filter, or choose a longer window.</p>
        </EmptyState>
      ) : (
        <Charts pages={data?.pages ?? []} first={first} window={window}>
          {hasNextPage && (
            <Button onClick={() => void fetchNextPage()} disabled={isFetchingNextPage}>
              Show more
            </Button>
          )}
        </Charts>
      )}
    </Page>
  );
}

function Charts({ pages, first, window, children }: { pages: readonly MetricCharts[]; first: MetricCharts; window: TimeView; children: ReactElement | false }): ReactElement {
  const shown = pages.flatMap((page) => page.items.map((series) => ({ page, series })));
  const changes = useChangesOf(shown.map(({ series }) => series.resource.id), window);
  const { common, own } = splitLabels(shown.map(({ series }) => series.labels));
  const silent = shown.filter(({ series }) => series.lines.length === 0).length;
  const isCut = shown.length < first.found;
  return (
    <>
      <p className={styles["status"]} role="status">
        {isCut ? `${count(shown.length)} of ${plural(first.found, "label set")}. ${first.narrow ?? ""}` : `${plural(first.found, "label set")}.`} One point per {count(first.step_us / US_PER_S)} s
        {silent > 0 && `; ${count(silent)} without samples in this window`}.
      </p>
      {Object.keys(common).length > 0 && <p className={styles["status"]}>All of them: {labelsText(common)}</p>}
      <ChangeList lines={changes && linesInView(changes, window)} />
      <h2 className="visually-hidden">Series</h2>
      <div className={styles["charts"]}>
        {shown.map(({ page, series }, at) => (
          <MetricFigure
            key={labelsText(series.labels)}
            title={labelsText(own[at] ?? {}) || page.name}
            page={page}
            series={series}
            changes={changes?.filter(({ of }) => of.includes(series.resource.id)) ?? []}
            action={
              <p className={styles["of"]}>
                <MetricOwner series={series} />
                {page.view === "quantiles" && `, ${plural(series.series, "bucket")}`}
              </p>
            }
          />
        ))}
      </div>
      {children}
    </>
  );
}
