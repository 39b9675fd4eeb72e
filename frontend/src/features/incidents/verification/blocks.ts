/** Blocks before and after a change as points of one picture. Pure. */

import type { Schemas } from "@/api/client";
import type { Verification } from "@/api/incidents";
import { roundUp } from "@/charts/timeline/scales";
import { parseUs } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import { METRIC_NAMES } from "@/widgets/metricNames";

export type DrawnMetric = "throttled_ms_per_min" | "slow_ratio";
type Measure = Schemas["VerifiedMeasure"];

export interface Point {
  readonly us: number;
  readonly value: number;
}

export interface BlockLane {
  readonly metric: DrawnMetric;
  readonly title: string;
  readonly unit: Measure["unit"];
  readonly before: readonly Point[];
  readonly after: readonly Point[];
  readonly measure: Measure | null;
  readonly top: number;
}

function pointsOf(series: Schemas["BlockSeries"] | null, metric: DrawnMetric): Point[] {
  if (series === null) return [];
  // A block's throttled time is told as a rate, so that it compares with the prediction.
  const perMinute = 60_000_000 / series.step_us;
  return series.t_us.flatMap((us, index) => {
    const raw = (metric === "slow_ratio" ? series.slow_ratio : series.throttled_ms)[index];
    return raw == null ? [] : [{ us: us + series.step_us / 2, value: metric === "slow_ratio" ? raw : raw * perMinute }];
  });
}

/** The prediction for what was applied; before that is known, what the fix promised. */
export const predictionOf = (measure: Measure | null): Schemas["Interval"] | null => measure?.predicted ?? measure?.promised ?? null;

/** What can be drawn: nothing where a metric has no blocks. */
export function blockLanes(verification: Verification): BlockLane[] {
  return (["throttled_ms_per_min", "slow_ratio"] as const).flatMap((metric) => {
    const before = pointsOf(verification.before, metric);
    const after = pointsOf(verification.after, metric);
    if (before.length + after.length === 0) return [];
    const measure = verification.measures.find((one) => one.metric === metric) ?? null;
    const highest = Math.max(0, ...before.map(({ value }) => value), ...after.map(({ value }) => value), predictionOf(measure)?.high ?? 0);
    return [{ metric, ...METRIC_NAMES[metric], before, after, measure, top: roundUp(highest * 1.08) }];
  });
}

/** The time axis: what was measured, and while nothing came after the change yet, room for it. */
export function blockExtent(verification: Verification): TimeView {
  const { before, after } = verification;
  const appliedUs = parseUs(verification.applied_at);
  const starts = [...(before?.t_us ?? []), ...(after?.t_us ?? []), appliedUs];
  const ends = [...(before?.t_us ?? []).map((us) => us + (before?.step_us ?? 0)), ...(after?.t_us ?? []).map((us) => us + (after?.step_us ?? 0)), appliedUs];
  const fromUs = Math.min(...starts);
  const toUs = Math.max(...ends);
  const room = after === null || after.t_us.length === 0 ? Math.max(60_000_000, (toUs - fromUs) * 0.6) : 0;
  return { fromUs, toUs: toUs + room };
}

export interface Progress {
  readonly doneS: number;
  readonly ofS: number;
  /** "2 min of 5 min" */
  readonly text: string;
}

// As the sentence beside it says it: short spans to the second, or a progress would not be seen.
const span = (s: number): string => (s < 120 ? `${Math.round(s)} s` : `${Math.round(s / 60)} min`);

/** How far the measuring is; null where no time is what it waits for. */
export function progressOf({ needed_s: ofS, collected_s: doneS }: Pick<Verification, "needed_s" | "collected_s">): Progress | null {
  if (ofS === null || doneS === null || ofS <= 0) return null;
  return { doneS: Math.min(doneS, ofS), ofS, text: `${span(doneS)} of ${span(ofS)}` };
}
