import { Drawing } from "@/test/drawing";

import { drawAxes, frameOf, type LanePlace } from "./axes";
import type { Palette } from "./palette";

const palette = { line: "line", dim: "dim" } as Palette;
const place: LanePlace = {
  widthPx: 474,
  heightPx: 136,
  gutterPx: 66,
  view: { fromUs: 0, toUs: 4_000_000 },
  y: { min: 1, max: 1000, log: true, splits: [1, 10, 100, 1000], format: (value) => `${value} µs` },
  timeAxis: true,
};

describe("the axes of a lane", () => {
  it("leave the same width to every lane, so that times line up", () => {
    const [all, bare] = [place, { ...place, y: null, timeAxis: false }].map((one) => frameOf(new Drawing().context, one, 2));
    expect(all).toMatchObject({ left: 132, width: 800, top: 20, height: 200 });
    expect(bare).toMatchObject({ left: 132, width: 800, top: 0, height: 272 });
  });

  it("have a line for each round time and each value, in their place on the scale", () => {
    const drawing = new Drawing();
    drawAxes(frameOf(drawing.context, place, 1), place, palette);
    const across = drawing.rects.filter(({ width }) => width === 400);
    expect(across.map(({ y }) => Math.round(y))).toEqual([110, 76, 43, 10]);
    const upright = drawing.rects.filter(({ width }) => width === 1);
    expect(upright.map(({ x }) => Math.round(x))).toEqual([66, 166, 266, 366, 466]);
    expect(drawing.texts.slice(-4)).toEqual(["1 µs", "10 µs", "100 µs", "1000 µs"]);
  });

  it("leave out a time that the right edge would cut off, and a value covered by another", () => {
    const drawing = new Drawing();
    const narrow = { ...place, heightPx: 50 };
    drawAxes(frameOf(drawing.context, narrow, 1), narrow, palette);
    expect(drawing.texts).toHaveLength(4 + 2);
  });
});
