/** The picture in words, for those who cannot see it and for the line above the selection. Pure. */

import { count, cpus, microseconds, plural } from "@/lib/format";
import { clock, duration } from "@/lib/time";
import { span, type TimeView } from "@/lib/timeView";

import { connectionWords } from "./connections";
import { laneWords } from "./lanes";
import { limitAt, type Served, type TimelineModel } from "./model";
import { overlapping, spanStats } from "./stats";

/** Whose latency it is: an answer to a request is never called one of DNS. */
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
    parts.push(`CPU mean ${cpus(stats.cpuMean)}, peak ${cpus(stats.cpuMax)} in ${duration(model.cpu.stepUs)}, ${against}`);
    if (stats.ticksOverLimit > 0) parts.push(`${plural(stats.ticksOverLimit, "tick")} over the limit`);
  }
  const throttled = overlapping(model.throttled, view);
  const throttledUs = throttled.reduce((sum, part) => sum + Math.min(part.toUs, view.toUs) - Math.max(part.fromUs, view.fromUs), 0);
  parts.push(throttled.length === 0 ? "not throttled" : `throttled ${plural(throttled.length, "time")}, ${duration(throttledUs)} total`);
  if (stats.gcCycles > 0) parts.push(`${plural(stats.gcCycles, "GC cycle")}, ${duration(stats.gcUs)}`);
  if (stats.answers > 0) {
    const kept = stats.complete ? "" : " recorded";
    parts.push(`${plural(stats.answers, "answer")}${kept}, ${count(stats.slow)} over ${microseconds(model.slowThresholdUs)}, slowest ${microseconds(stats.maxUs)}`);
  }
  parts.push(...connectionWords(model, view), ...laneWords(model, view));
  if (stats.missingTicks > 0) parts.push(`${plural(stats.missingTicks, "tick")} missing`);
  return `${clock(view.fromUs, digits)} to ${clock(view.toUs, digits)}: ${parts.join("; ")}.`;
}
