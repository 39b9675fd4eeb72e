/** Positions and precision of a time axis's labels. Pure. */

import { clock, dateTime, US_PER_S } from "./time";
import type { TimeView } from "./timeView";

const STEPS_US = [
  5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400].map((s) => s * US_PER_S),
];

/** The smallest round step that gives at most `maxLabels` labels. */
export function tickStep(spanUs: number, maxLabels: number): number {
  const wanted = spanUs / Math.max(1, maxLabels);
  return STEPS_US.find((step) => step >= wanted) ?? Math.ceil(wanted / (86_400 * US_PER_S)) * 86_400 * US_PER_S;
}

/** Multiples of the step in local time, inside the view. */
export function tickPositions(view: TimeView, stepUs: number): number[] {
  const zoneUs = -new Date(view.fromUs / 1000).getTimezoneOffset() * 60 * US_PER_S;
  const first = Math.ceil((view.fromUs + zoneUs) / stepUs) * stepUs - zoneUs;
  const positions: number[] = [];
  for (let at = first; at <= view.toUs; at += stepUs) positions.push(at);
  return positions;
}

export function tickLabel(us: number, stepUs: number): string {
  if (stepUs >= 86_400 * US_PER_S) return dateTime(us).slice(5, 10);
  if (stepUs >= 60 * US_PER_S) return clock(us).slice(0, 5);
  if (stepUs >= US_PER_S) return clock(us);
  if (stepUs >= 100_000) return clock(us, 1);
  return clock(us, stepUs >= 10_000 ? 2 : 3);
}
