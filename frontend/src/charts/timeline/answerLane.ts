/** The answer lane: each answer is a dot on a log scale; slow ones are diamonds, failures are crosses. */

import { microseconds } from "@/lib/format";
import type { TimeView } from "@/lib/timeView";

import { drawPixels, pixelColor } from "./bitmap";
import { emptyGrid, fillGrid, paintGrid, stamp, type Pixels, type Projection } from "./density";
import { clipped, edges, font, hatched, label, throttledBands, xOf, type Frame } from "./draw";
import { isFailure, type Answers, type TimelineModel } from "./model";
import type { Palette } from "./palette";
import { indexRange, overlapping } from "./stats";

export interface AnswerLaneInput {
  readonly model: TimelineModel;
  readonly lowLog: number;
  readonly highLog: number;
  /** Ranges in which single answers were not kept. */
  readonly unkept: readonly TimeView[];
}

/** Up to this many dots are drawn individually; more share screen cells. */
const SINGLE_DOTS = 2500;

const QUICK = 0;
const LATE = 1;
const FAILED = 2;
const kinds = new WeakMap<Answers, { readonly slowThresholdUs: number; readonly of: Uint8Array }>();

/** Whether each answer is fast, slow, or failed; cached, because every frame needs it. */
function kindsOf({ answers, slowThresholdUs }: TimelineModel): Uint8Array {
  const known = kinds.get(answers);
  if (known?.slowThresholdUs === slowThresholdUs) return known.of;
  const of = answers.result.map((result, i) => (isFailure(result) ? FAILED : (answers.latencyUs[i] as number) > slowThresholdUs ? LATE : QUICK));
  kinds.set(answers, { slowThresholdUs, of });
  return of;
}

export function drawAnswerLane(frame: Frame, input: AnswerLaneInput, palette: Palette): void {
  clipped(frame, () => {
    throttledBands(frame, input.model.throttled, palette, false);
    hatched(frame, input.unkept, palette);
    drawThreshold(frame, input, palette);
    drawRates(frame, input, palette);
    drawAnswers(frame, input, palette);
    labelUnkept(frame, input, palette);
    drawErrors(frame, input.model, palette);
  });
}

const yOf = (frame: Frame, input: AnswerLaneInput, log: number): number =>
  frame.top + ((input.highLog - log) / (input.highLog - input.lowLog)) * frame.height;

function drawThreshold(frame: Frame, input: AnswerLaneInput, palette: Palette): void {
  const { ctx, dpr } = frame;
  const y = yOf(frame, input, Math.log10(input.model.slowThresholdUs));
  ctx.strokeStyle = palette.hot;
  ctx.globalAlpha = 0.7;
  ctx.lineWidth = dpr;
  ctx.setLineDash([2 * dpr, 4 * dpr]);
  ctx.beginPath();
  ctx.moveTo(frame.left, y);
  ctx.lineTo(frame.left + frame.width, y);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
  label(frame, `slow: over ${microseconds(input.model.slowThresholdUs)}`, frame.left + frame.width - 6 * dpr, y - 10 * dpr, palette.hot, palette, "right");
}

function drawAnswers(frame: Frame, input: AnswerLaneInput, palette: Palette): void {
  const range = indexRange(input.model.answers.tUs, frame.view);
  if (range[1] - range[0] > SINGLE_DOTS) drawDense(frame, input, palette, range);
  else drawSparse(frame, input, palette, range);
}

type Range = readonly [number, number];

/** Each slow or failed answer once per pixel: a second diamond in the same place adds time, not information. */
function eachMark(frame: Frame, input: AnswerLaneInput, [first, last]: Range, visit: (x: number, y: number, failed: boolean) => void): void {
  const { answers } = input.model;
  const kind = kindsOf(input.model);
  const drawn = new Set<number>();
  for (let i = first; i < last; i += 1) {
    if (kind[i] === QUICK) continue;
    const x = Math.round(xOf(frame, answers.tUs[i] as number));
    const y = Math.round(yOf(frame, input, answers.logLatency[i] as number));
    const failed = kind[i] === FAILED;
    const place = (y * 65_536 + x) * 2 + (failed ? 1 : 0);
    if (drawn.has(place)) continue;
    drawn.add(place);
    visit(x, y, failed);
  }
}

function drawSparse(frame: Frame, input: AnswerLaneInput, palette: Palette, range: Range): void {
  const { ctx, dpr } = frame;
  const { answers } = input.model;
  const kind = kindsOf(input.model);
  const radius = (range[1] - range[0] < 400 ? 2.4 : 1.7) * dpr;
  ctx.fillStyle = palette.cool;
  ctx.globalAlpha = 0.62;
  ctx.beginPath();
  for (let i = range[0]; i < range[1]; i += 1) {
    if (kind[i] !== QUICK) continue;
    const x = xOf(frame, answers.tUs[i] as number);
    const y = yOf(frame, input, answers.logLatency[i] as number);
    ctx.moveTo(x + radius, y);
    ctx.arc(x, y, radius, 0, Math.PI * 2);
  }
  ctx.fill();
  ctx.globalAlpha = 1;

  ctx.fillStyle = palette.hot;
  ctx.strokeStyle = palette.hot;
  ctx.lineWidth = 1.6 * dpr;
  const half = 3 * dpr;
  eachMark(frame, input, range, (x, y, failed) => {
    ctx.beginPath();
    if (failed) {
      ctx.moveTo(x - half, y - half);
      ctx.lineTo(x + half, y + half);
      ctx.moveTo(x - half, y + half);
      ctx.lineTo(x + half, y - half);
      ctx.stroke();
    } else {
      ctx.moveTo(x, y - half);
      ctx.lineTo(x + half, y);
      ctx.lineTo(x, y + half);
      ctx.lineTo(x - half, y);
      ctx.fill();
    }
  });
}

function drawDense(frame: Frame, input: AnswerLaneInput, palette: Palette, range: Range): void {
  drawPixels(frame, (pixels) => writeDots(pixels, frame, input, palette, range));
}

/** All answers as pixels of the frame: fast ones share screen cells, the others have their own marks. */
export function writeDots(pixels: Pixels, frame: Frame, input: AnswerLaneInput, palette: Palette, range: Range): void {
  const { dpr } = frame;
  const { answers } = input.model;
  const cell = Math.max(1, Math.round(1.5 * dpr));
  const grid = emptyGrid(frame.width, frame.height, cell);
  // A cell at the right or lower edge can reach beyond the frame.
  const projection: Projection = {
    fromUs: frame.view.fromUs,
    toUs: frame.view.fromUs + ((frame.view.toUs - frame.view.fromUs) * grid.columns * cell) / frame.width,
    lowLog: input.highLog - ((input.highLog - input.lowLog) * grid.rows * cell) / frame.height,
    highLog: input.highLog,
  };
  fillGrid(grid, answers.tUs, answers.logLatency, range, projection, kindsOf(input.model));
  paintGrid(grid, cell, pixels, [pixelColor(palette.cool, 0.45), pixelColor(palette.cool, 0.68), pixelColor(palette.cool, 0.95)]);
  const marked = pixelColor(palette.hot, 1);
  const half = Math.round(3 * dpr);
  eachMark(frame, input, range, (x, y, failed) => stamp(pixels, x - Math.round(frame.left), y - Math.round(frame.top), half, failed, marked));
}

/** Error lines of the server: crosses along the top edge, where there are few answers. */
function drawErrors(frame: Frame, { errors }: TimelineModel, palette: Palette): void {
  const { ctx, dpr } = frame;
  const half = 3.5 * dpr;
  const y = frame.top + 7 * dpr;
  ctx.strokeStyle = palette.hot;
  ctx.lineWidth = 2 * dpr;
  for (const { fromUs, toUs } of errors) {
    if (toUs < frame.view.fromUs || fromUs > frame.view.toUs) continue;
    const x = xOf(frame, fromUs);
    ctx.beginPath();
    ctx.moveTo(x - half, y - half);
    ctx.lineTo(x + half, y + half);
    ctx.moveTo(x - half, y + half);
    ctx.lineTo(x + half, y - half);
    ctx.stroke();
  }
}

/** Text in each hatched part that has room for it. */
function labelUnkept(frame: Frame, { unkept }: AnswerLaneInput, palette: Palette): void {
  const { ctx, dpr } = frame;
  ctx.font = font(frame, 11, 560);
  const text = "single answers were not kept here";
  const room = ctx.measureText(text).width + 16 * dpr;
  for (const span of unkept) {
    const at = edges(frame, span);
    if (at !== null && at[1] - at[0] >= room) label(frame, text, (at[0] + at[1]) / 2, frame.top + frame.height - 14 * dpr, palette.dim, palette, "center");
  }
}

/** Where single answers were not kept: each tick's median and slowest answer as dashes. */
function drawRates(frame: Frame, input: AnswerLaneInput, palette: Palette): void {
  const { ctx, dpr } = frame;
  const { rate, slowThresholdUs } = input.model;
  const [first, last] = indexRange(rate.tUs, { fromUs: frame.view.fromUs - rate.stepUs + 1, toUs: frame.view.toUs });
  const width = Math.max(dpr, (rate.stepUs / (frame.view.toUs - frame.view.fromUs)) * frame.width);
  const near = overlapping(input.unkept, frame.view);
  const dash = (fromUs: number, us: number, heightPx: number): void => {
    // As with dots, latencies below 1 µs count as 1 µs: the log scale has no zero.
    const y = yOf(frame, input, Math.log10(Math.max(1, us)));
    if (!Number.isNaN(us)) ctx.fillRect(xOf(frame, fromUs), y - (heightPx * dpr) / 2, width, heightPx * dpr);
  };
  for (let i = first; i < last; i += 1) {
    const at = rate.tUs[i] as number;
    if (!near.some((span) => span.fromUs < at + rate.stepUs && span.toUs > at)) continue;
    const slowest = rate.maxUs[i] as number;
    ctx.fillStyle = palette.cool;
    ctx.globalAlpha = 0.7;
    dash(at, rate.p50Us[i] as number, 2);
    if (slowest > slowThresholdUs) ctx.fillStyle = palette.hot;
    else ctx.globalAlpha = 0.35;
    dash(at, slowest, 1);
  }
  ctx.globalAlpha = 1;
}
