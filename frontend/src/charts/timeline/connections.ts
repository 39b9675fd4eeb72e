/** Connections, children, and backlog in a span of the timeline. Pure. */

import { plural } from "@/lib/format";
import type { TimeView } from "@/lib/timeView";

import type { ChildLimit, ConnectionTicks, TimelineModel } from "./model";
import { indexRange, overlapping } from "./stats";

export type ConnectionSeries = "connections" | "idle" | "children" | "backlog" | "dropped" | "upstream" | "upstreamIdle";

export interface ConnectionStats {
  /** Highest tick of the span; null: not measured. */
  readonly connections: number | null;
  readonly idle: number | null;
  readonly children: number | null;
  readonly backlog: number | null;
  readonly upstream: number | null;
  readonly upstreamIdle: number | null;
  /** Sum over the span's ticks. */
  readonly dropped: number | null;
  readonly errorLines: number;
  readonly limit: number | null;
}

/** Limit of concurrent children; null: unknown. */
export function childLimitAt(limits: readonly ChildLimit[], us: number): number | null {
  let found: number | null = limits[0]?.limit ?? null;
  for (const step of limits) {
    if (step.fromUs > us) break;
    found = step.limit;
  }
  return found;
}

/** Whether a series has anything to show: a row of zeros has not. */
export const hasSeries = (ticks: ConnectionTicks | null, series: ConnectionSeries): boolean => ticks !== null && ticks[series].some((value) => value > 0);

/** Whether there are connections or children to draw. */
export const hasConnections = ({ connections }: TimelineModel): boolean =>
  (["connections", "children", "backlog", "upstream", "dropped"] as const).some((series) => hasSeries(connections, series));

/** The top of the lane, so that everything drawn and the limit fit. A limit far above would flatten the data, so it is only labeled. */
export function connectionTop(model: TimelineModel): number {
  const { connections: ticks } = model;
  let top = 1;
  if (ticks === null) return top;
  for (const series of [ticks.connections, ticks.children, ticks.upstream]) for (const value of series) if (value > top) top = value;
  // Waiting connections are drawn on top of served ones.
  ticks.backlog.forEach((value, i) => {
    const stacked = value + ((ticks.children[i] as number) || 0);
    if (stacked > top) top = stacked;
  });
  for (const { limit } of model.childLimits) if (limit < top * 4) top = Math.max(top, limit * 1.15);
  return top;
}

export function connectionStats(model: TimelineModel, view: TimeView): ConnectionStats {
  const { connections: ticks } = model;
  const [first, last] = ticks === null ? [0, 0] : indexRange(ticks.tUs, { fromUs: view.fromUs - ticks.stepUs + 1, toUs: view.toUs });
  const fold = (series: ConnectionSeries, join: (sum: number, value: number) => number): number | null => {
    let result: number | null = null;
    for (let i = first; i < last; i += 1) {
      const value = ticks?.[series][i] as number;
      if (!Number.isNaN(value)) result = result === null ? value : join(result, value);
    }
    return result;
  };
  return {
    connections: fold("connections", Math.max),
    idle: fold("idle", Math.max),
    children: fold("children", Math.max),
    backlog: fold("backlog", Math.max),
    upstream: fold("upstream", Math.max),
    upstreamIdle: fold("upstreamIdle", Math.max),
    dropped: fold("dropped", (sum, value) => sum + value),
    errorLines: overlapping(model.errors.map(atLeastATick), view).reduce((sum, error) => sum + lines(error.attributes["count"]), 0),
    limit: childLimitAt(model.childLimits, view.fromUs),
  };
}

/** In words, for the line below the timeline; empty if nothing is measured. */
export function connectionWords(model: TimelineModel, view: TimeView): string[] {
  const stats = connectionStats(model, view);
  const parts: string[] = [];
  if (stats.children !== null && stats.children > 0) parts.push(`up to ${plural(stats.children, "child", "children")}${stats.limit === null ? "" : ` of ${stats.limit}`}`);
  if (stats.connections !== null && stats.connections > 0) parts.push(`up to ${plural(stats.connections, "TCP connection")}`);
  if (stats.backlog !== null && stats.backlog > 0) parts.push(`up to ${stats.backlog} in the accept queue`);
  if (stats.dropped !== null && stats.dropped > 0) parts.push(`${plural(stats.dropped, "connection")} dropped`);
  if (stats.upstream !== null && stats.upstream > 0) parts.push(`up to ${plural(stats.upstream, "upstream connection")}`);
  if (stats.errorLines > 0) parts.push(plural(stats.errorLines, "error line"));
  return parts;
}

const lines = (text: string | undefined): number => {
  const count = Number(text ?? "1");
  return Number.isFinite(count) && count > 0 ? count : 1;
};

const atLeastATick = (error: TimelineModel["errors"][number]): TimelineModel["errors"][number] => (error.toUs > error.fromUs ? error : { ...error, toUs: error.fromUs + 1 });
