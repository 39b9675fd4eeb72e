/** The numbers of an impact in reading order. Pure. */

import type { Schemas } from "@/api/client";
import { count, cpus, milliseconds, percent, significant } from "@/lib/format";

export interface Figure {
  readonly label: string;
  readonly value: string;
  readonly detail: string | null;
  readonly hot: boolean;
}

export function figuresOf(impact: Schemas["Impact"]): Figure[] {
  const figures: Figure[] = [];
  const add = (label: string, value: string, detail: string | null = null, hot = false): void => void figures.push({ label, value, detail, hot });
  if (impact.slow_ratio !== null) {
    const of = impact.queries === null ? null : `${count(impact.slow_queries)} of ${count(impact.queries)} queries`;
    add("Slow answers", percent(impact.slow_ratio), of, impact.slow_ratio > 0);
  }
  if (impact.p99_ms !== null) add("p99 latency", milliseconds(impact.p99_ms), impact.p50_ms === null ? null : `median ${milliseconds(impact.p50_ms)}`);
  if (impact.max_ms !== null) add("Slowest", milliseconds(impact.max_ms));
  if (impact.throttled_ratio !== null) {
    add("Periods throttled", percent(impact.throttled_ratio), impact.throttled_ms === null ? null : `${milliseconds(impact.throttled_ms)} in all`, impact.throttled_ratio > 0);
  }
  if (impact.cpu_mean !== null) {
    const share = impact.cpu_limit === null ? "no limit" : `of limit ${significant(impact.cpu_limit)}`;
    add("Mean CPU", cpus(impact.cpu_mean), share);
  }
  if (impact.cpu_peak_100ms !== null) {
    const times = impact.cpu_mean === null || impact.cpu_mean === 0 ? null : `${significant(impact.cpu_peak_100ms / impact.cpu_mean, 2)} × the mean`;
    add("Peak CPU in 100 ms", cpus(impact.cpu_peak_100ms), times, impact.cpu_limit !== null && impact.cpu_peak_100ms > impact.cpu_limit);
  }
  if (impact.gc_cycles !== null) add("GC cycles", count(impact.gc_cycles));
  return figures;
}
