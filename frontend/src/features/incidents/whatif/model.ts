/** Formats of any what-if model's values, and the stops of its sliders. Pure. */

import type { ModelAnswer, ModelSettings, WhatIfModel } from "@/api/whatif";
import { joinRange, measure, type MeasureUnit } from "@/lib/format";
import { stopsBetween } from "@/lib/stops";

type Figure = ModelAnswer["figures"][number];

const UNITS: ReadonlySet<string> = new Set<MeasureUnit>(["bytes", "1", "us", "ms", "cpu", "ratio", "1/min", "1/s", "1/h", "ms/min"]);

/** A value in a unit named by the API. */
export function formatIn(unit: string): (value: number) => string {
  return (value) => (UNITS.has(unit) ? measure(value, unit as MeasureUnit) : `${measure(value, "1")} ${unit}`);
}

/** "84 to 190 MiB", "–". */
export function figureText({ unit, value, interval }: Figure): string {
  const format = formatIn(unit);
  if (interval !== null) return joinRange(format(interval.low), format(interval.high));
  return value === null ? "–" : format(value);
}

/** Stops over values that make sense in the window, within the control's range, including suggested values. */
export function stopsOf(control: WhatIfModel["controls"][number], answer: ModelAnswer): number[] {
  const range = answer.ranges[control.id];
  const least = range?.least ?? Math.max(1, control.least ?? 1);
  const most = Math.min(range?.most ?? 1000 * least, control.most ?? Infinity);
  const wanted = answer.suggestions.map(({ settings }) => settings[control.id]).filter((value): value is number => typeof value === "number");
  return stopsBetween(least, most, wanted);
}

export const isSame = (one: ModelSettings, other: ModelSettings): boolean => {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => JSON.stringify(one[name] ?? null) === JSON.stringify(other[name] ?? null));
};
