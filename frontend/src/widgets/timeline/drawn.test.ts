/** The timeline shows what was recorded: 1,000 random recordings are drawn, and every mark and figure is compared with them. */

import { SLOW_US } from "@/api/catalogue.gen";
import { drawAnswerLane, writeDots } from "@/charts/timeline/answerLane";
import { gaps } from "@/charts/timeline/bars";
import { pixelColor } from "@/charts/timeline/bitmap";
import { unkept } from "@/charts/timeline/counts";
import { drawCpuLane } from "@/charts/timeline/cpuLane";
import type { Frame } from "@/charts/timeline/draw";
import type { TimelineModel } from "@/charts/timeline/model";
import type { Palette } from "@/charts/timeline/palette";
import { cpuTop, latencyRange } from "@/charts/timeline/scales";
import { indexRange } from "@/charts/timeline/stats";
import type { TimeView } from "@/lib/timeView";
import { Drawing, type PaintedDot, type PaintedRect } from "@/test/drawing";

import { completeIn, countsIn, dotsOf, FINE, isLate, T0, TICK, tickOf, type Happened } from "./recordings";
import { everyRecording, fineIn, overIn, within } from "./truth";

const WIDTH = 1_000;
const HEIGHT = 200;
const palette: Palette = {
  ink: "ink", dim: "dim", line: "line", hot: "hot", hotSoft: "hotSoft", cool: "cool", gc: "gc", gcInk: "gcInk", limit: "limit", hatch: "hatch", bg: "bg",
};

const frameOf = (view: TimeView, drawing: Drawing): Frame => ({ ctx: drawing.context, left: 0, top: 0, width: WIDTH, height: HEIGHT, view, dpr: 1 });

function drawnCpu(model: TimelineModel, view: TimeView): { readonly drawing: Drawing; readonly top: number } {
  const drawing = new Drawing();
  const top = cpuTop(model);
  drawCpuLane(frameOf(view, drawing), { model, top, gaps: gaps(model) }, palette);
  return { drawing, top };
}

function drawnAnswers(model: TimelineModel, view: TimeView): { readonly drawing: Drawing; readonly latencyAt: (y: number) => number } {
  const drawing = new Drawing();
  const range = latencyRange(model);
  drawAnswerLane(frameOf(view, drawing), { model, ...range, unkept: unkept(model) }, palette);
  return { drawing, latencyAt: (y) => 10 ** (range.highLog - (y / HEIGHT) * (range.highLog - range.lowLog)) };
}

const perPx = (view: TimeView): number => (view.toUs - view.fromUs) / WIDTH;
const usAt = (view: TimeView, x: number): number => view.fromUs + x * perPx(view);
const xAt = (view: TimeView, us: number): number => (us - view.fromUs) / perPx(view);

const hasFine = (was: Happened, tick: number): boolean => was.fine[tick]?.some((value) => value !== null) ?? false;

interface Known {
  readonly fromUs: number;
  readonly stepUs: number;
  readonly cpus: number;
  readonly over: boolean;
  readonly outlined: boolean;
}

/** The known CPU ticks, of both lengths. */
function knownTicks(was: Happened): Known[] {
  return was.cpus.flatMap((value, tick) => {
    const fromUs = T0 + tick * TICK;
    const coarse = value === null ? [] : [{ fromUs, stepUs: TICK, cpus: value, over: overIn(was, fromUs, value), outlined: hasFine(was, tick) }];
    const fine = (was.fine[tick] ?? []).flatMap((one, i) => {
      const at = fromUs + i * FINE;
      return one === null ? [] : [{ fromUs: at, stepUs: FINE, cpus: one, over: overIn(was, at, one), outlined: false }];
    });
    return [...coarse, ...fine];
  });
}

/** Bars as drawn: an outline is a faint rectangle and its upper edge. */
function barsOf(drawing: Drawing): { readonly rect: PaintedRect; readonly outlined: boolean }[] {
  const rects = drawing.rects.filter(({ color, y, height }) => (color === "hot" || color === "cool") && !(y === 0 && height === 3));
  const bars: { rect: PaintedRect; outlined: boolean }[] = [];
  for (let i = 0; i < rects.length; i += 1) {
    const rect = rects[i] as PaintedRect;
    bars.push({ rect, outlined: rect.alpha === 0.22 });
    if (rect.alpha === 0.22) i += 1;
  }
  return bars;
}

const order = (a: { outlined: boolean; over: boolean; fromUs: number; stepUs: number }, b: typeof a): number =>
  Number(b.outlined) - Number(a.outlined) || Number(a.over) - Number(b.over) || a.stepUs - b.stepUs || a.fromUs - b.fromUs;

describe("the CPU lane", () => {
  it("draws each known tick once, at its time, with its height, and hot if and only if it is over the limit", () => {
    everyRecording((was, { view }, model) => {
      const { drawing, top } = drawnCpu(model, view);
      const bars = barsOf(drawing).map(({ rect, outlined }) => {
        const centerUs = usAt(view, rect.x + rect.width / 2);
        const stepUs = rect.width * perPx(view) > 0.6 * TICK ? TICK : FINE;
        return { centerUs, stepUs, fromUs: centerUs - stepUs / 2, cpus: (rect.height / HEIGHT) * top, over: rect.color === "hot", outlined };
      });
      const expected = knownTicks(was).filter(({ fromUs, stepUs }) => within(view, fromUs, fromUs + stepUs));
      expect(bars).toHaveLength(expected.length);
      expect(barsOf(drawing).filter(({ rect }) => rect.y < -1e-9)).toEqual([]);
      expected.sort(order);
      bars.sort(order).forEach((bar, i) => {
        const tick = expected[i] as Known;
        expect(bar).toMatchObject({ over: tick.over, outlined: tick.outlined });
        expect(Math.abs(bar.centerUs - tick.fromUs - tick.stepUs / 2)).toBeLessThanOrEqual(perPx(view) + 1);
        expect(Math.abs(bar.cpus - tick.cpus)).toBeLessThanOrEqual(top / HEIGHT + 1e-9);
      });
    });
  });

  it("shades the stalls, and nothing else", () => {
    everyRecording((was, { view }, model) => {
      const bands = drawnCpu(model, view).drawing.rects.filter(({ color }) => color === "hotSoft");
      const expected = was.stalls.filter(({ fromUs, toUs }) => within(view, fromUs, toUs));
      expect(bands).toHaveLength(expected.length);
      bands.forEach((band, i) => {
        const stall = expected[i] as Happened["stalls"][number];
        expect(band.x).toBeCloseTo(Math.max(0, xAt(view, stall.fromUs)), 3);
        expect(band.x + band.width).toBeCloseTo(Math.max(Math.min(WIDTH, xAt(view, stall.toUs)), band.x + 1), 3);
      });
    });
  });

  it("hatches missing data, and nothing else", () => {
    everyRecording((was, { view }, model) => {
      const { drawing } = drawnCpu(model, view);
      const isKnown = (us: number): boolean => (hasFine(was, tickOf(us)) ? fineIn(was, us) !== null : was.cpus[tickOf(us)] !== null);
      const middles = Array.from({ length: (was.ticks * TICK) / FINE }, (_, i) => T0 + (i + 0.5) * FINE).filter((us) => us >= view.fromUs && us < view.toUs);
      expect(middles.filter((us) => isHatched(drawing, xAt(view, us)))).toEqual(middles.filter((us) => !isKnown(us)));
    });
  });
});

const isHatched = ({ hatched }: Drawing, x: number): boolean => hatched.some((one) => one.x <= x && x < one.x + one.width);

describe("the lane of answers", () => {
  it("draws every kept answer in its place, and no others; slow and failed ones are marked", () => {
    everyRecording((was, { view }, model) => {
      const { drawing, latencyAt } = drawnAnswers(model, view);
      const seen = dotsOf(was).dots.filter(({ us }) => us >= view.fromUs && us < view.toUs);
      const isMarked = (one: (typeof seen)[number]): boolean => isLate(one) || one.result >= 2;
      const quiet = seen.filter((one) => !isMarked(one));
      const circles = drawing.dots.filter(({ shape }) => shape === "circle");
      expect(circles).toHaveLength(quiet.length);
      circles.forEach((dot, i) => {
        const one = quiet[i] as (typeof seen)[number];
        expect(dot.color).toBe("cool");
        expectAt(dot, one, view, latencyAt);
      });
      // Answers on the same pixel share a mark.
      const marks = drawing.dots.filter(({ shape }) => shape !== "circle");
      const marked = seen.filter(isMarked);
      expect(marks.every(({ color }) => color === "hot")).toBe(true);
      for (const one of marked) expect(marks.some((mark) => mark.shape === (one.result >= 2 ? "stroked" : "filled") && isAt(mark, one, view, latencyAt))).toBe(true);
      for (const mark of marks) expect(marked.some((one) => mark.shape === (one.result >= 2 ? "stroked" : "filled") && isAt(mark, one, view, latencyAt))).toBe(true);
    });
  });

  it("hatches where single answers were not kept, and draws the counts there", () => {
    everyRecording((was, { view }, model) => {
      const { drawing, latencyAt } = drawnAnswers(model, view);
      const complete = completeIn(was);
      for (let tick = 0; tick < was.ticks; tick += 1) {
        const us = T0 + (tick + 0.5) * TICK;
        if (us < view.fromUs || us >= view.toUs) continue;
        expect(isHatched(drawing, xAt(view, us))).toBe(was.serves && !complete.some(([from, to]) => from <= us && us < to));
      }
      const dashes = drawing.rects.filter(({ color, y, height }) => (color === "cool" || color === "hot") && !(y === 0 && height === 3));
      const expected = countsIn(was).flatMap((counts, tick) => {
        const fromUs = T0 + tick * TICK;
        if (counts === null || was.kept[tick] === true || !within(view, fromUs, fromUs + TICK)) return [];
        return [
          ...(counts.p50Us === null ? [] : [{ fromUs, us: counts.p50Us, hot: false }]),
          ...(counts.maxUs === null ? [] : [{ fromUs, us: counts.maxUs, hot: counts.maxUs > SLOW_US }]),
        ];
      });
      expect(dashes).toHaveLength(expected.length);
      dashes.forEach((dash, i) => {
        const one = expected[i] as (typeof expected)[number];
        expect(dash.color).toBe(one.hot ? "hot" : "cool");
        expect(dash.x).toBeCloseTo(xAt(view, one.fromUs), 3);
        expect(latencyAt(dash.y + dash.height / 2) / one.us).toBeCloseTo(1, 3);
      });
    });
  });
});

describe("the lane of answers as a bitmap, if there are many", () => {
  const colors: Palette = { ...palette, cool: "rgb(1, 2, 3)", hot: "rgb(200, 100, 50)" };
  const marked = pixelColor(colors.hot, 1);

  const [width, height] = [200, 60];

  it("has a dot or a mark for every answer, and no pixels for any other", () => {
    everyRecording((was, { view }, model) => {
      const { lowLog, highLog } = latencyRange(model);
      const pixels = { width, height, colors: new Uint32Array(width * height) };
      const frame = { ...frameOf(view, new Drawing()), width, height };
      writeDots(pixels, frame, { model, lowLog, highLog, unkept: [] }, colors, indexRange(model.answers.tUs, view));
      const places = dotsOf(was).dots.filter(({ us }) => us >= view.fromUs && us < view.toUs).map((one) => ({
        x: ((one.us - view.fromUs) / (view.toUs - view.fromUs)) * width,
        y: ((highLog - Math.log10(Math.max(1, one.latencyUs))) / (highLog - lowLog)) * height,
        marked: isLate(one) || one.result >= 2,
      }));
      const at = (x: number, y: number): number | undefined => pixels.colors[Math.min(height - 1, y) * width + Math.min(width - 1, x)];
      for (const { x, y, marked: isMarked } of places) {
        if (!isMarked) expect(at(Math.floor(x), Math.floor(y))).not.toBe(0);
        // At an edge, only the part of the mark inside the bitmap is drawn.
        else expect([-1, 0, 1].flatMap((dx) => [-1, 0, 1].map((dy) => at(Math.max(0, Math.round(x) + dx), Math.max(0, Math.round(y) + dy))))).toContain(marked);
      }
      for (let i = 0; i < pixels.colors.length; i += 1) {
        const color = pixels.colors[i];
        if (color === 0) continue;
        const [x, y] = [i % width, Math.floor(i / width)];
        if (!places.some((one) => Math.abs(one.x - x) <= 4 && Math.abs(one.y - y) <= 4 && (color !== marked || one.marked))) expect({ x, y, color }).toBeNull();
      }
    });
  });
});

const isAt = (dot: PaintedDot, one: { us: number; latencyUs: number }, view: TimeView, latencyAt: (y: number) => number): boolean =>
  Math.abs(dot.x - xAt(view, one.us)) <= 1 && latencyAt(dot.y - 1) >= one.latencyUs && latencyAt(dot.y + 1) <= one.latencyUs;

function expectAt(dot: PaintedDot, one: { us: number; latencyUs: number }, view: TimeView, latencyAt: (y: number) => number): void {
  expect(dot.x).toBeCloseTo(xAt(view, one.us), 3);
  expect(dot.y).toBeGreaterThanOrEqual(0);
  expect(dot.y).toBeLessThanOrEqual(HEIGHT);
  expect(latencyAt(dot.y) / one.latencyUs).toBeCloseTo(1, 3);
}
