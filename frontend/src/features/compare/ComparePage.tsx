import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, type ReactElement } from "react";

import { comparisonQuery, type Comparison } from "@/api/compare";
import { explain } from "@/api/problem";
import { resourceQuery, resourcesQuery, type ResourceDetail } from "@/api/resources";
import { ChangeList } from "@/charts/changes/ChangeList";
import { changeLines, linesInView, type ChartChange } from "@/charts/changes/changes";
import { sentence } from "@/lib/text";
import { bothZones, dateTime, duration, US_PER_S } from "@/lib/time";
import { span, type TimeView } from "@/lib/timeView";
import { Choice } from "@/ui/Choice";
import { Page } from "@/ui/Page";
import { Section } from "@/ui/Section";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";
import { Async } from "@/widgets/Async";
import { useChanges } from "@/widgets/useChanges";
import { useSeries } from "@/widgets/useSeries";

import styles from "./Compare.module.css";
import { DifferenceTable } from "./DifferenceTable";
import { byDifference, pairsOf } from "./pair";
import { PairChart } from "./PairChart";
import { AGO_S, agoS, otherFromUs, type CompareSearch } from "./search";

const route = getRouteApi("/signed-in/compare");
const LEAD = "A window next to another time or another resource, with a test for each figure of whether it differs.";
const POINTS = 300;
/** With fewer blocks, no test can show a difference. */
const LEAST_BLOCKS = 4;
const NONE: readonly ChartChange[] = [];

export function ComparePage(): ReactElement {
  const search = route.useSearch();
  const { resource, from, to } = search;
  return (
    <Page title="Compare" lead={LEAD}>
      {resource === undefined || from === undefined || to === undefined || from >= to ? (
        <EmptyState title="No window to compare" action={<Link to="/resources">Go to Explore</Link>}>
          <p>Open an incident or a container, and press Compare (x) next to its chart.</p>
        </EmptyState>
      ) : (
        <Sides search={search} resourceId={resource} window={{ fromUs: from, toUs: to }} />
      )}
    </Page>
  );
}

function Sides({ search, resourceId, window }: { search: CompareSearch; resourceId: number; window: TimeView }): ReactElement {
  const otherId = search.other ?? resourceId;
  // Both stay until the page is left: the data of a comparison does not change.
  const mine = useQuery({ ...resourceQuery(resourceId), refetchInterval: false });
  const theirs = useQuery({ ...resourceQuery(otherId), refetchInterval: false });
  const failed = [mine, theirs].find((query) => query.isError);
  if (failed?.error != null) return <ErrorState {...explain(failed.error)} onRetry={() => void failed.refetch()} />;
  if (mine.data === undefined || theirs.data === undefined) return <Skeleton lines={6} height={44} label="Loading comparison" />;
  const start = otherFromUs(search) ?? window.fromUs;
  return <Compared search={search} mine={mine.data} theirs={theirs.data} window={window} otherWindow={{ fromUs: start, toUs: start + span(window) }} />;
}

interface ComparedProps {
  search: CompareSearch;
  mine: ResourceDetail;
  theirs: ResourceDetail;
  window: TimeView;
  otherWindow: TimeView;
}

function Compared({ search, mine, theirs, window, otherWindow }: ComparedProps): ReactElement {
  const isSame = mine.id === theirs.id && window.fromUs === otherWindow.fromUs;
  const comparison = useQuery(comparisonQuery(mine.id, window, theirs.id, otherWindow.fromUs));
  return (
    <>
      <Controls search={search} mine={mine} />
      <div className={styles["sides"]}>
        <Side name="This" className={styles["mine"]} resource={mine} window={window} />
        <Side name="Other" className={styles["theirs"]} resource={theirs} window={otherWindow} />
      </div>
      {isSame ? (
        <EmptyState title="Both sides are the same">
          <p>Choose another time or another resource.</p>
        </EmptyState>
      ) : (
        <div className={styles["parts"]}>
          <Section title="Differences" note="The same tests as verification, over blocks of 10 s. p is corrected for all figures tested (Holm).">
            <Async query={comparison} label="Loading differences">
              {(data) => <Differences comparison={data} />}
            </Async>
          </Section>
          <Section title="Charts" note="Metrics whose values differ most come first. Each point shows its highest tick, or p99 for latency. Time runs from the start of each window.">
            <Charts mine={mine} theirs={theirs} window={window} otherWindow={otherWindow} overlaid={search.mode === "overlaid"} />
          </Section>
        </div>
      )}
    </>
  );
}

function Controls({ search, mine }: { search: CompareSearch; mine: ResourceDetail }): ReactElement {
  const navigate = route.useNavigate();
  const change = (next: Partial<CompareSearch>): void => void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false });
  const { data } = useInfiniteQuery({ ...resourcesQuery({ kind: mine.kind, gone: true }), refetchInterval: false });
  const others = (data?.pages[0]?.items ?? []).filter((one) => one.id !== mine.id);
  const ago = agoS(search);
  const times: [number, string][] = AGO_S.map((seconds) => [seconds, `${duration(seconds * US_PER_S)} earlier`]);
  return (
    <div className={styles["controls"]} role="search">
      <select aria-label="Other resource" value={search.other ?? mine.id} onChange={(event) => change({ other: Number(event.target.value) === mine.id ? undefined : Number(event.target.value), ago: undefined })}>
        <option value={mine.id}>Same {mine.kind === "cgroup" ? "container" : sentence(mine.kind).toLowerCase()}</option>
        {search.other !== undefined && !others.some((one) => one.id === search.other) && <option value={search.other}>Chosen resource</option>}
        {others.map((one) => (
          <option key={one.id} value={one.id}>
            {one.name} on {one.node.name}
          </option>
        ))}
      </select>
      <Choice className={styles["times"]} label="Other time" options={search.other === undefined ? times : [[0, "Same time"], ...times]} value={ago} onChange={(seconds) => change({ ago: seconds })} />
      <Choice label="Charts" options={[["stacked", "Above each other"], ["overlaid", "Overlaid"]]} value={search.mode ?? "stacked"} onChange={(mode) => change({ mode: mode === "overlaid" ? "overlaid" : undefined })} />
    </div>
  );
}

function Side({ name, className, resource, window }: { name: string; className: string | undefined; resource: ResourceDetail; window: TimeView }): ReactElement {
  return (
    <p>
      <svg className={styles["key"]} viewBox="0 0 26 8" aria-hidden="true">
        <line className={className} x1={0} x2={26} y1={4} y2={4} />
      </svg>
      <strong>{name}</strong>
      <Link to="/resources/$resourceId" params={{ resourceId: resource.id }} search={{ minutes: Math.max(1, Math.ceil(span(window) / (60 * US_PER_S))), to: window.toUs }}>
        {resource.name}
      </Link>
      <span className={styles["when"]}>on {resource.node.name},</span>
      <time className={styles["when"]} title={bothZones(window.fromUs)}>
        {dateTime(window.fromUs)} local, {duration(span(window))}
      </time>
    </p>
  );
}

function Differences({ comparison }: { comparison: Comparison }): ReactElement {
  const { this: mine, other } = comparison;
  if (mine.blocks === 0 || other.blocks === 0) {
    const empty = mine.blocks === 0 ? mine : other;
    return (
      <EmptyState title={mine.blocks === 0 ? "Nothing recorded in this window" : "Nothing recorded in the other window"}>
        <p>
          {empty.subject.name} has no data from <span className={styles["whole"]}>{dateTime(empty.from_us)}</span> to{" "}
          <span className={styles["whole"]}>{dateTime(empty.to_us)}</span> local. Choose another time or another resource.
        </p>
      </EmptyState>
    );
  }
  return (
    <>
      {Math.min(mine.blocks, other.blocks) < LEAST_BLOCKS && <p className={styles["dim"]}>So few blocks of 10 s have data ({mine.blocks} and {other.blocks}) that only large differences can be told from chance. Choose a longer window.</p>}
      {comparison.measures.length === 0 && <p className={styles["dim"]}>No figure is above 0 on either side, or none is measured on both.</p>}
      <DifferenceTable comparison={comparison} />
    </>
  );
}

function Charts({ mine, theirs, window, otherWindow, overlaid }: Omit<ComparedProps, "search"> & { overlaid: boolean }): ReactElement {
  const one = useSeries(mine.id, mine.metrics, window, POINTS);
  const two = useSeries(theirs.id, theirs.metrics, otherWindow, POINTS);
  const pairs = useMemo(
    () => (one.data === undefined || two.data === undefined ? [] : byDifference(pairsOf(one.data, window.fromUs, two.data, otherWindow.fromUs))),
    [one.data, two.data, window.fromUs, otherWindow.fromUs],
  );
  const changes = { mine: useChanges(mine.id, window), theirs: useChanges(theirs.id, otherWindow) };
  const words = {
    mine: changes.mine === undefined ? undefined : linesInView(changes.mine, window, (us) => `This, +${duration(us - window.fromUs)}:`),
    theirs: changes.theirs === undefined ? undefined : linesInView(changes.theirs, otherWindow, (us) => `Other, +${duration(us - otherWindow.fromUs)}:`),
  };
  const at = { mine: changeLines(changes.mine ?? NONE, window), theirs: changeLines(changes.theirs ?? NONE, otherWindow) };
  return (
    <Async query={one} label="Loading charts">
      {() => (
        <Async query={two} label="Loading charts">
          {() =>
            pairs.length === 0 ? (
              <p className={styles["dim"]}>No metric is recorded in either window.</p>
            ) : (
              <>
                <ChangeList lines={words.mine} title="Changes in this window" />
                <ChangeList lines={words.theirs} title="Changes in the other window" />
                <div className={styles["charts"]}>
                  {pairs.map((pair) => (
                    <PairChart
                      key={pair.metric}
                      pair={pair}
                      title={sentence(pair.metric.replace(/_(us|bytes)$/, ""))}
                      lengthUs={span(window)}
                      overlaid={overlaid}
                      changes={at}
                      notes={[...(words.mine ?? []), ...(words.theirs ?? [])]}
                    />
                  ))}
                </div>
              </>
            )
          }
        </Async>
      )}
    </Async>
  );
}
