/** Blocks before and after a change as points of one chart. Pure. */

import type { Schemas } from "@/api/client";
import type { ShownVerification } from "@/api/incidents";
import { roundUp } from "@/charts/timeline/scales";
import type { CsvTable } from "@/lib/csv";
import { parseUs, toRfc3339 } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";

/** More lanes would be too many; deciding figures come first. */
const MOST_LANES = 3;
type Measure = Schemas["VerifiedMeasure"];

export interface Point {
  readonly us: number;
  readonly value: number;
}

export interface BlockLane {
  readonly metric: string;
  readonly title: string;
  readonly unit: Measure["unit"];
  readonly before: readonly Point[];
  readonly after: readonly Point[];
  readonly measure: Measure;
  readonly top: number;
}

function pointsOf(series: Schemas["BlockSeries"] | null, metric: string): Point[] {
  const values = series?.lanes.find((lane) => lane.id === metric)?.values ?? [];
  return values.flatMap((value, index) => (value === null || series === null ? [] : [{ us: (series.t_us[index] ?? NaN) + series.step_us / 2, value }]));
}

/** The prediction for the applied change; until that is known, the fix's prediction. */
export const predictionOf = (measure: Measure): Schemas["Interval"] | null => measure.predicted ?? measure.promised;

/** The deciding figures that have blocks; if none has, the other figures. */
export function blockLanes(verification: ShownVerification): BlockLane[] {
  const drawn = verification.measures.flatMap((measure): BlockLane[] => {
    const before = pointsOf(verification.before, measure.metric);
    const after = pointsOf(verification.after, measure.metric);
    if (before.length + after.length === 0) return [];
    const highest = Math.max(0, ...before.map(({ value }) => value), ...after.map(({ value }) => value), predictionOf(measure)?.high ?? 0);
    return [{ metric: measure.metric, title: measure.title, unit: measure.unit, before, after, measure, top: roundUp(highest * 1.08) }];
  });
  const deciding = drawn.filter(({ measure }) => measure.decides);
  return (deciding.length > 0 ? deciding : drawn).slice(0, MOST_LANES);
}

/** The drawn blocks, each at its middle. */
export function blockTable(lanes: readonly BlockLane[]): CsvTable {
  return {
    name: "Blocks",
    columns: ["Middle of the block (UTC)", "Part", ...lanes.map(({ title, unit }) => (unit === "1" ? title : `${title} (${unit})`))],
    rows: () =>
      (["before", "after"] as const).flatMap((part) => {
        const times = [...new Set(lanes.flatMap((lane) => lane[part].map(({ us }) => us)))].sort((a, b) => a - b);
        return times.map((us) => [toRfc3339(us), part, ...lanes.map((lane) => lane[part].find((point) => point.us === us)?.value ?? null)]);
      }),
  };
}

/** The time axis: the measured time, plus room for the time after the change until data arrives. */
export function blockExtent(verification: ShownVerification): TimeView {
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

// As in the sentence next to it: short spans in seconds, so that progress is visible.
const span = (s: number): string => (s < 120 ? `${Math.round(s)} s` : `${Math.round(s / 60)} min`);

/** Progress of the measurement; null if it does not wait for time. */
export function progressOf({ needed_s: ofS, collected_s: doneS }: Pick<ShownVerification, "needed_s" | "collected_s">): Progress | null {
  if (ofS === null || doneS === null || ofS <= 0) return null;
  return { doneS: Math.min(doneS, ofS), ofS, text: `${span(doneS)} of ${span(ofS)}` };
}
