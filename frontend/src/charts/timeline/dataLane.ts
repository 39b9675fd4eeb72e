/** A memory, kernel, or pod start lane: areas, bars, and lines of one unit against their limit; and the lane of marks. */

import { clipped, edges, font, label, xOf, type Frame } from "./draw";
import { laneValue } from "./lanes";
import type { DataLane, DataLine, TimelineModel } from "./model";
import type { Palette } from "./palette";
import { indexRange } from "./stats";

/** Lines of one color differ by their dashes. */
const DASHES: readonly (readonly number[])[] = [[], [5, 3], [2, 3]];

export function drawDataLane(frame: Frame, lane: DataLane, top: number, palette: Palette): void {
  clipped(frame, () => {
    for (const line of lane.lines) if (line.style === "bars") drawBars(frame, lane, line, top, palette);
    for (const line of lane.lines) if (line.style === "area") drawArea(frame, lane, line, top, palette);
    let drawn = 0;
    for (const line of lane.lines) {
      if (line.style !== "line") continue;
      drawLine(frame, lane, line, top, palette, DASHES[drawn % DASHES.length] ?? []);
      drawn += 1;
    }
    drawLimits(frame, lane, top, palette);
  });
}

/** The dash pattern of a line, by its index, as in the legend. */
export function dashOf(lane: DataLane, line: DataLine): readonly number[] {
  const lines = lane.lines.filter((one) => one.style === "line");
  return DASHES[lines.indexOf(line) % DASHES.length] ?? [];
}

const colorOf = (line: DataLine, palette: Palette): string => (line.hot ? palette.hot : palette.cool);

/** Whether a bar is drawn in the color of harm. */
export const isHot = (line: DataLine, value: number): boolean => line.hot && value > line.hotAbove;

const yOf = (frame: Frame, top: number, value: number): number => frame.top + frame.height * (1 - Math.min(value, top * 1.2) / top);

function eachValue(frame: Frame, lane: DataLane, line: DataLine, visit: (x: number, width: number, value: number) => void): void {
  const [first, last] = indexRange(lane.tUs, { fromUs: frame.view.fromUs - lane.stepUs, toUs: frame.view.toUs });
  for (let i = first; i < last; i += 1) {
    const value = line.values[i] as number;
    if (Number.isNaN(value)) continue;
    const us = lane.tUs[i] as number;
    const x = xOf(frame, us);
    visit(x, Math.max(frame.dpr, xOf(frame, us + lane.stepUs) - x), value);
  }
}

function drawBars(frame: Frame, lane: DataLane, line: DataLine, top: number, palette: Palette): void {
  const { ctx } = frame;
  for (const hot of [false, true]) {
    ctx.fillStyle = hot ? palette.hot : palette.cool;
    ctx.globalAlpha = hot ? 0.9 : 0.5;
    eachValue(frame, lane, line, (x, width, value) => {
      if (value <= 0 || isHot(line, value) !== hot) return;
      const y = Math.min(yOf(frame, top, value), frame.top + frame.height - frame.dpr);
      ctx.fillRect(x, y, width, frame.top + frame.height - y);
    });
  }
  ctx.globalAlpha = 1;
}

/** One shape per run of samples: a rectangle for each would leave a seam between them, and take a call each. */
function drawArea(frame: Frame, lane: DataLane, line: DataLine, top: number, palette: Palette): void {
  const { ctx, dpr } = frame;
  const bottom = frame.top + frame.height;
  ctx.fillStyle = colorOf(line, palette);
  ctx.strokeStyle = colorOf(line, palette);
  ctx.lineWidth = dpr;
  for (const steps of runs(frame, lane, line, top)) {
    const [first] = steps;
    const last = steps.at(-1);
    if (first === undefined || last === undefined) continue;
    ctx.beginPath();
    ctx.moveTo(first.x, bottom);
    for (const { x, end, y } of steps) {
      ctx.lineTo(x, y);
      ctx.lineTo(end, y);
    }
    ctx.lineTo(last.end, bottom);
    ctx.globalAlpha = 0.18;
    ctx.fill();
    ctx.beginPath();
    trace(ctx, steps);
    ctx.globalAlpha = 0.9;
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
}

/** A sample on the screen: its value from one x to the next. */
interface Step {
  readonly x: number;
  readonly end: number;
  readonly y: number;
}

/** Samples without a gap between them. */
function runs(frame: Frame, lane: DataLane, line: DataLine, top: number): Step[][] {
  const found: Step[][] = [];
  let endX = -Infinity;
  eachValue(frame, lane, line, (x, width, value) => {
    const step = { x, end: x + width, y: yOf(frame, top, value) };
    if (x - endX > frame.dpr) found.push([step]);
    else found.at(-1)?.push(step);
    endX = step.end;
  });
  return found;
}

function trace(ctx: CanvasRenderingContext2D, steps: readonly Step[]): void {
  steps.forEach(({ x, end, y }, index) => {
    if (index === 0) ctx.moveTo(x, y);
    else ctx.lineTo(x, y);
    ctx.lineTo(end, y);
  });
}

function drawLine(frame: Frame, lane: DataLane, line: DataLine, top: number, palette: Palette, dash: readonly number[]): void {
  const { ctx, dpr } = frame;
  ctx.strokeStyle = colorOf(line, palette);
  ctx.lineWidth = 1.5 * dpr;
  ctx.setLineDash(dash.map((part) => part * dpr));
  ctx.beginPath();
  const all = runs(frame, lane, line, top);
  for (const steps of all) trace(ctx, steps);
  ctx.stroke();
  ctx.setLineDash([]);
  // An isolated sample would be a line too short to see.
  ctx.fillStyle = colorOf(line, palette);
  const alone = all.filter((steps) => steps.length === 1);
  if (alone.length > 200) return;
  for (const [step] of alone) {
    if (step === undefined || step.end - step.x > 5 * dpr) continue;
    ctx.beginPath();
    ctx.arc((step.x + step.end) / 2, step.y, 2.5 * dpr, 0, Math.PI * 2);
    ctx.fill();
  }
}

function drawLimits(frame: Frame, lane: DataLane, top: number, palette: Palette): void {
  const { ctx, dpr, view } = frame;
  lane.limits.forEach(({ fromUs, value }, index) => {
    const from = index === 0 ? view.fromUs : Math.max(fromUs, view.fromUs);
    const to = Math.min(lane.limits[index + 1]?.fromUs ?? view.toUs, view.toUs);
    if (value === null || from >= to) return;
    const offScale = value > top;
    const y = offScale ? frame.top + dpr : yOf(frame, top, value);
    ctx.strokeStyle = palette.limit;
    ctx.lineWidth = 1.5 * dpr;
    ctx.setLineDash([6 * dpr, 4 * dpr]);
    ctx.beginPath();
    ctx.moveTo(xOf(frame, from), y);
    ctx.lineTo(xOf(frame, to), y);
    ctx.stroke();
    ctx.setLineDash([]);
    label(frame, `limit ${laneValue(value, lane.unit)}${offScale ? " ↑" : ""}`, xOf(frame, to) - 6 * dpr, y + (y - frame.top < 18 * dpr ? 11 : -10) * dpr, palette.limit, palette, "right");
  });
}

/** Events: a bar with the event's duration or a wedge for a point in time; labeled if there is room. */
export function drawMarks(frame: Frame, marks: TimelineModel["marks"], palette: Palette): void {
  clipped(frame, () => {
    const { ctx, dpr } = frame;
    const height = 14 * dpr;
    const y = frame.top + (frame.height - height) / 2;
    ctx.font = font(frame, 11, 560);
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    let freeFrom = -Infinity;
    marks.forEach((mark, index) => {
      const moment = mark.toUs <= mark.fromUs;
      const at = edges(frame, moment ? { fromUs: mark.fromUs, toUs: mark.fromUs + 1 } : mark);
      if (at === null) return;
      const killed = mark.kind === "memory.oom_kill";
      ctx.fillStyle = killed ? palette.hot : palette.ink;
      ctx.globalAlpha = moment || killed ? 1 : 0.35;
      if (moment) {
        ctx.beginPath();
        ctx.moveTo(at[0], y);
        ctx.lineTo(at[0] + 5 * dpr, y + height / 2);
        ctx.lineTo(at[0], y + height);
        ctx.lineTo(at[0] - 5 * dpr, y + height / 2);
        ctx.fill();
      } else ctx.fillRect(at[0], y, Math.max(at[1] - at[0], 2 * dpr), height);
      ctx.globalAlpha = 1;
      const next = marks[index + 1];
      const from = Math.max(at[0], frame.left) + 8 * dpr;
      const room = (next === undefined ? frame.left + frame.width : xOf(frame, next.fromUs) - 8 * dpr) - from;
      if (from < freeFrom || ctx.measureText(mark.label).width > room) return;
      label(frame, mark.label, from, y + height / 2, killed ? palette.hot : palette.ink, palette);
      freeFrom = from + ctx.measureText(mark.label).width;
    });
  });
}
