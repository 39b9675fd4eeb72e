/** Counts of all answers in a span, and where single answers were kept. Pure. */

import { lowerBound } from "@/lib/binary";
import type { TimeView } from "@/lib/timeView";

import type { Answers, Served, TimelineModel } from "./model";

export interface Counts {
  /** The counted ticks: at least 100 ms, however short the span is. */
  readonly of: TimeView;
  /** null: not counted. */
  readonly queries: number | null;
  readonly slow: number | null;
  /** Only for a single tick: medians do not add up. */
  readonly p50Us: number | null;
  readonly maxUs: number | null;
}

/** Counts of the ticks that start in a span, or of the tick around it if none does. null: not counted there. */
export function countsOf({ rate }: TimelineModel, view: TimeView): Counts | null {
  const { tUs, stepUs } = rate;
  let first = lowerBound(tUs, view.fromUs);
  let last = lowerBound(tUs, view.toUs);
  if (first >= last) {
    first = lowerBound(tUs, view.fromUs + 1) - 1;
    last = first + 1;
    const at = tUs[first];
    if (at === undefined || view.fromUs >= at + stepUs) return null;
  }
  return {
    of: { fromUs: tUs[first] as number, toUs: (tUs[last - 1] as number) + stepUs },
    queries: fold(rate.queries, first, last, (sum, value) => sum + value),
    slow: fold(rate.slow, first, last, (sum, value) => sum + value),
    p50Us: last - first === 1 ? fold(rate.p50Us, first, last, Math.max) : null,
    maxUs: fold(rate.maxUs, first, last, Math.max),
  };
}

/** Whether every answer of a span is a dot. */
export function isComplete({ complete, truncated }: Answers, view: TimeView): boolean {
  return truncated === 0 && complete.some((one) => one.fromUs <= view.fromUs && one.toUs >= view.toUs);
}

/** Where a gap between dots means nothing: only slow answers were kept. */
export function unkept({ answers, served, extent }: TimelineModel): TimeView[] {
  if (served.length === 0) return [];
  const found: TimeView[] = [];
  let fromUs = extent.fromUs;
  for (const kept of answers.complete) {
    if (kept.fromUs > fromUs) found.push({ fromUs, toUs: Math.min(kept.fromUs, extent.toUs) });
    fromUs = Math.max(fromUs, kept.toUs);
  }
  if (fromUs < extent.toUs) found.push({ fromUs, toUs: extent.toUs });
  return found;
}

/** Only DNS has "queries". */
export function servedNoun(served: readonly Served[]): string {
  if (!served.includes("requests")) return "queries";
  return served.includes("queries") ? "queries and requests" : "requests";
}

/** null if every tick is missing. */
function fold(values: Float64Array, first: number, last: number, join: (sum: number, value: number) => number): number | null {
  let result: number | null = null;
  for (let i = first; i < last; i += 1) {
    const value = values[i] as number;
    if (!Number.isNaN(value)) result = result === null ? value : join(result, value);
  }
  return result;
}
