/** The timeline in words, for screen readers and the line above the selection. Pure. */

import { count, cpus, microseconds, plural } from "@/lib/format";
import { clock, duration } from "@/lib/time";
import { span, type TimeView } from "@/lib/timeView";

import { connectionWords } from "./connections";
import { servedNoun } from "./counts";
import { laneWords } from "./lanes";
import { judgedTicks, limitAt, type Served, type TimelineModel } from "./model";
import { spanStats } from "./stats";

/** Whose latency it is: an answer to a request is never called DNS latency. */
export function latencyTitle(served: readonly Served[]): string {
  if (!served.includes("requests")) return "DNS latency";
  return served.includes("queries") ? "DNS and request latency" : "Request latency";
}

export function summarize(model: TimelineModel, view: TimeView): string {
  const stats = spanStats(model, view);
  const digits = span(view) < 60_000_000 ? 1 : 0;
  const limit = limitAt(model.limits, view.fromUs);
  const parts: string[] = [];
  if (stats.cpuMean === null) parts.push("no CPU recorded");
  else {
    const against = limit === null ? "no CPU limit" : `limit ${cpus(limit)}`;
    parts.push(`CPU mean ${cpus(stats.cpuMean)}, peak ${cpus(stats.cpuMax)} in ${duration(stats.cpuTickUs)}, ${against}`);
    if (stats.overLimit > 0) parts.push(`${overLimitWords(model, stats.overLimit)} over the limit`);
  }
  parts.push(stats.throttledPeriods === 0 ? "not throttled" : `throttled ${plural(stats.throttledPeriods, "time")}, ${duration(stats.throttledUs)} total`);
  if (stats.gcCycles > 0) parts.push(`${plural(stats.gcCycles, "GC cycle")}, ${duration(stats.gcUs)}`);
  if (stats.queries !== null) {
    const slow = stats.slow === null ? "" : `, ${plural(stats.slow, "answer")} over ${microseconds(model.slowThresholdUs)}`;
    parts.push(`${count(stats.queries)} ${servedNoun(model.served)}${slow}${stats.maxUs === null ? "" : `, slowest ${microseconds(stats.maxUs)}`}`);
  } else if (stats.dots > 0) parts.push(`${plural(stats.dots, "single answer")} kept, slowest ${microseconds(stats.maxUs)}`);
  parts.push(...connectionWords(model, view), ...laneWords(model, view));
  if (stats.missingTicks > 0) parts.push(`${plural(stats.missingTicks, "tick")} missing`);
  return `${clock(view.fromUs, digits)} to ${clock(view.toUs, digits)}: ${parts.join("; ")}.`;
}

/** A point of several ticks is over the limit if one of its ticks is. */
function overLimitWords(model: TimelineModel, points: number): string {
  const { stepUs, tickUs } = judgedTicks(model);
  return stepUs > tickUs ? `${plural(points, "point")} of ${duration(stepUs)} with a tick` : plural(points, "tick");
}
