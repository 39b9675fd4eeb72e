import { Drawing } from "@/test/drawing";

import { drawDataLane } from "./dataLane";
import { T0, TICK } from "./fixtures";
import type { DataLane } from "./model";
import type { Palette } from "./palette";

const palette = { hot: "hot", cool: "cool", limit: "limit" } as Palette;

/** Two samples, a gap, and one sample. */
const lane = (style: "area" | "line"): DataLane => ({
  id: "memory",
  title: "Memory",
  unit: "bytes",
  tUs: Float64Array.from([0, 1, 2, 3], (tick) => T0 + tick * TICK),
  stepUs: TICK,
  lines: [{ name: "in use", style, hot: false, hotAbove: 0, values: Float64Array.from([100, 120, NaN, 150]) }],
  limits: [],
});

/** `ticks` of the recording over 1,000 px. */
function drawn(style: "area" | "line", ticks: number): Drawing {
  const drawing = new Drawing();
  const view = { fromUs: T0, toUs: T0 + ticks * TICK };
  drawDataLane({ ctx: drawing.context, left: 0, top: 0, width: 1_000, height: 200, view, dpr: 1 }, lane(style), 200, palette);
  return drawing;
}

describe("the lane of a measure", () => {
  it("draws an area as one shape up to the next gap, without a seam between samples", () => {
    const { dots, rects } = drawn("area", 4);
    const shapes = dots.filter(({ shape }) => shape === "filled");
    // The middle of each: two samples of 250 px, and the one after the gap.
    expect(shapes.map(({ x }) => x)).toEqual([250, 875]);
    expect(rects).toEqual([]);
  });

  it("gives bars the color of harm only above the value from which they are harmful", () => {
    const late = lane("area");
    const bars = { ...late, lines: [{ name: "late by", style: "bars" as const, hot: true, hotAbove: 120, values: Float64Array.from([100, 120, 121, 150]) }] };
    const drawing = new Drawing();
    drawDataLane({ ctx: drawing.context, left: 0, top: 0, width: 1_000, height: 200, view: { fromUs: T0, toUs: T0 + 4 * TICK }, dpr: 1 }, bars, 200, palette);
    expect(drawing.rects.map(({ x, color }) => [x, color])).toEqual([
      [0, "cool"],
      [250, "cool"],
      [500, "hot"],
      [750, "hot"],
    ]);
  });

  it("marks a sample with a dot only if it stands alone and would be too short to see", () => {
    const circles = (ticks: number): number[] => drawn("line", ticks).dots.flatMap(({ shape, x }) => (shape === "circle" ? [x] : []));
    expect(circles(4)).toEqual([]);
    expect(circles(400)).toEqual([8.75]);
  });
});
