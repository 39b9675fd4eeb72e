/** The drawn data of a part of the timeline, as tables. */

import type { Cell, CsvTable } from "@/lib/csv";
import { toRfc3339 } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";

import { childLimitAt, hasConnections } from "./connections";
import { laneLimitAt } from "./lanes";
import { limitAt, RESULTS, type CpuTicks, type DataLane, type TimelineModel } from "./model";
import { indexRange } from "./stats";

type ViewTable = Omit<CsvTable, "rows"> & { readonly rows: (view: TimeView) => Iterable<readonly Cell[]> };

const TIME = "Time (UTC)";
const TICK_MS = "Tick (ms)";

/** Tables of a view: one per lane, with the lane's name. `overview`: determines the lanes. */
export const tablesOf = (model: TimelineModel, overview: TimelineModel, view: TimeView): CsvTable[] =>
  viewTables(model, overview).map(({ rows, ...table }) => ({ ...table, rows: () => rows(view) }));

function viewTables(model: TimelineModel, overview: TimelineModel): ViewTable[] {
  const tables = model.lanes.map(laneTable);
  if (overview.marks.length > 0) tables.push(spanTable("Events", model.marks, (mark) => [mark.kind, mark.label], ["Kind", "Event"]));
  tables.push(cpuTable(model));
  if (overview.throttled.length > 0) {
    tables.push(spanTable("Throttled", model.throttled, ({ stoppedUs, periods }) => [stoppedUs / 1000, periods], ["Stopped (ms)", "Throttled periods"]));
  }
  if (overview.gc.length > 0) tables.push(spanTable("GC cycles", model.gc, ({ attributes }) => [attributes["process"] ?? ""], ["Process"]));
  if (hasConnections(overview)) tables.push(connectionTable(model));
  if (overview.served.length > 0) tables.push(answerTable(model), rateTable(model));
  if (overview.errors.length > 0) tables.push(spanTable("Error lines", model.errors, ({ label, attributes }) => [label, Number(attributes["count"] ?? 1)], ["Kind", "Lines"]));
  return tables;
}

function cpuTable(model: TimelineModel): ViewTable {
  // Where fine ticks are drawn over coarse ones, both are listed: the tick column distinguishes them.
  const drawn = model.coarse === null ? [model.cpu] : [model.coarse, model.cpu];
  return {
    name: "CPU usage",
    columns: [TIME, TICK_MS, "CPU usage (CPU)", "Mean CPU usage (CPU)", "CPU limit (CPU)"],
    rows: (view) => drawn.flatMap((ticks) => cpuRows(ticks, model, view)),
  };
}

function cpuRows(ticks: CpuTicks, model: TimelineModel, view: TimeView): Cell[][] {
  return each(ticks.tUs, ticks.stepUs, view, (us, i) => [
    toRfc3339(us),
    ticks.stepUs / 1000,
    at(ticks.cpus, i),
    at(ticks.means ?? ticks.cpus, i),
    limitAt(model.limits, us),
  ]);
}

function laneTable(lane: DataLane): ViewTable {
  const unit = lane.unit === "1" ? "" : ` (${lane.unit})`;
  const limited = lane.limits.length > 0;
  return {
    name: lane.title,
    columns: [TIME, TICK_MS, ...lane.lines.map(({ name }) => `${name}${unit}`), ...(limited ? [`limit${unit}`] : [])],
    rows: (view) =>
      each(lane.tUs, lane.stepUs, view, (us, i) => [toRfc3339(us), lane.stepUs / 1000, ...lane.lines.map(({ values }) => at(values, i)), ...(limited ? [laneLimitAt(lane, us)] : [])]),
  };
}

function connectionTable(model: TimelineModel): ViewTable {
  const { connections: ticks } = model;
  return {
    name: "Connections and children",
    columns: [TIME, TICK_MS, "Connections", "Idle connections", "Children", "Child limit", "Accept queue", "Dropped", "Upstream connections", "Idle upstream connections"],
    rows: (view) =>
      ticks === null
        ? []
        : each(ticks.tUs, ticks.stepUs, view, (us, i) => [
            toRfc3339(us),
            ticks.stepUs / 1000,
            at(ticks.connections, i),
            at(ticks.idle, i),
            at(ticks.children, i),
            childLimitAt(model.childLimits, us),
            at(ticks.backlog, i),
            at(ticks.dropped, i),
            at(ticks.upstream, i),
            at(ticks.upstreamIdle, i),
          ]),
  };
}

/** One row per dot. */
function answerTable({ answers, slowThresholdUs }: TimelineModel): ViewTable {
  return {
    name: "Single answers",
    columns: [TIME, "Latency (ms)", "Slow", "Result", "Receive queue wait (ms)", "Name"],
    rows: (view) => {
      const [first, last] = indexRange(answers.tUs, view);
      return Array.from({ length: last - first }, (_, offset) => {
        const i = first + offset;
        const waitUs = answers.queueWaitUs?.[i] ?? -1;
        return [
          toRfc3339(at(answers.tUs, i)),
          at(answers.latencyUs, i) / 1000,
          at(answers.latencyUs, i) > slowThresholdUs ? "yes" : "no",
          RESULTS[answers.result[i] ?? -1] ?? "unknown",
          waitUs < 0 ? null : waitUs / 1000,
          answers.names[answers.name[i] ?? -1] ?? "",
        ];
      });
    },
  };
}

/** The data drawn where single answers were not kept, and counts everywhere. */
function rateTable({ rate }: TimelineModel): ViewTable {
  return {
    name: "Answers per tick",
    columns: [TIME, TICK_MS, "Answers", "Slow answers", "Median latency (ms)", "Highest latency (ms)"],
    rows: (view) =>
      each(rate.tUs, rate.stepUs, view, (us, i) => [toRfc3339(us), rate.stepUs / 1000, at(rate.queries, i), at(rate.slow, i), at(rate.p50Us, i) / 1000, at(rate.maxUs, i) / 1000]),
  };
}

function spanTable<One extends TimeView>(name: string, spans: readonly One[], cells: (one: One) => Cell[], columns: readonly string[]): ViewTable {
  return {
    name,
    columns: ["From (UTC)", "To (UTC)", "Duration (ms)", ...columns],
    rows: (view) =>
      spans
        // A point in time counts if it lies inside.
        .filter(({ fromUs, toUs }) => Math.max(toUs, fromUs + 1) > view.fromUs && fromUs < view.toUs)
        .map((one) => [toRfc3339(one.fromUs), toRfc3339(one.toUs), (one.toUs - one.fromUs) / 1000, ...cells(one)]),
  };
}

/** The ticks in a view, including one that starts before it, as drawn. */
function each(tUs: Float64Array, stepUs: number, view: TimeView, row: (us: number, index: number) => Cell[]): Cell[][] {
  const [first, last] = indexRange(tUs, { fromUs: view.fromUs - stepUs + 1, toUs: view.toUs });
  return Array.from({ length: last - first }, (_, offset) => row(at(tUs, first + offset), first + offset));
}

const at = (values: Float64Array, index: number): number => values[index] ?? NaN;
