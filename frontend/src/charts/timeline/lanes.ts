/** The lanes declared by a cause's area: their ranges, values, and texts. Pure. */

import { bytes, count, cpus, measure, microseconds, MISSING, percent, significant } from "@/lib/format";
import { lowerBound } from "@/lib/binary";
import type { TimeView } from "@/lib/timeView";

import type { DataLane, DataLine, TimelineModel } from "./model";
import { axisTop } from "./scales";
import { indexRange, overlapping } from "./stats";

export function laneValue(value: number | null, unit: DataLane["unit"]): string {
  if (value === null || Number.isNaN(value)) return MISSING;
  switch (unit) {
    case "bytes":
      return bytes(value);
    case "us":
      return microseconds(value);
    case "cpu":
      return cpus(value);
    case "ratio":
      return percent(value);
    case "1":
      return value < 1_000_000 ? count(value) : `${significant(value / 1e6)} M`;
    default:
      return measure(value, unit);
  }
}

/** The top of a lane, so that its highest value and its limit fit. */
export function laneTop(lane: DataLane): number {
  let top = 0;
  for (const line of lane.lines) for (const value of line.values) if (value > top) top = value;
  for (const { value } of lane.limits) {
    // A limit far above everything would flatten the lines, so only its label shows it.
    if (value !== null && (top === 0 || value < top * 6)) top = Math.max(top, value * 1.1);
  }
  return axisTop(top === 0 ? 1 : top * 1.05, lane.unit);
}

export function laneLimitAt(lane: DataLane, us: number): number | null {
  let found: number | null = lane.limits[0]?.value ?? null;
  for (const step of lane.limits) {
    if (step.fromUs > us) break;
    found = step.value;
  }
  return found;
}

/** The value of the tick at a time, as drawn there; null: none. */
export function valueAt(lane: DataLane, line: DataLine, us: number): number | null {
  const at = lowerBound(lane.tUs, us + 1) - 1;
  const fromUs = lane.tUs[at];
  const value = line.values[at];
  return fromUs === undefined || value === undefined || Number.isNaN(value) || us >= fromUs + lane.stepUs ? null : value;
}

/** The highest value in a view; null if none is known. */
export function highest(lane: DataLane, line: DataLine, view: TimeView): number | null {
  const [first, last] = indexRange(lane.tUs, { fromUs: view.fromUs - lane.stepUs + 1, toUs: view.toUs });
  let most: number | null = null;
  for (let i = first; i < last; i += 1) {
    const value = line.values[i] as number;
    if (!Number.isNaN(value) && (most === null || value > most)) most = value;
  }
  return most;
}

/** Lanes in words: the highest harmful values, then events. */
export function laneWords(model: TimelineModel, view: TimeView): string[] {
  const parts = model.lanes.flatMap((lane) =>
    lane.lines
      .filter((line) => line.hot)
      .flatMap((line) => {
        const most = highest(lane, line, view);
        if (most === null) return [];
        const limit = laneLimitAt(lane, view.toUs);
        return [`${line.name} up to ${laneValue(most, lane.unit)}${limit === null ? "" : ` of ${laneValue(limit, lane.unit)}`}`];
      }),
  );
  const marks = overlappingMarks(model, view);
  const first = marks.slice(0, 3).map((mark) => mark.label);
  return marks.length === 0 ? parts : [...parts, marks.length > 3 ? `${first.join(", ")} and ${count(marks.length - 3)} more events` : first.join(", ")];
}

/** Marks in a view; a point in time counts if it lies inside. */
export function overlappingMarks(model: TimelineModel, view: TimeView): TimelineModel["marks"] {
  const spans = model.marks.map((mark) => (mark.toUs > mark.fromUs ? mark : { ...mark, toUs: mark.fromUs + 1 }));
  return overlapping(spans, view);
}
