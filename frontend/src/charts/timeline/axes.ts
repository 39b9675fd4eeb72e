/** The grid of a lane and its labels: time below, values on the left. */

import { tickLabel, tickPositions, tickStep } from "@/lib/timeTicks";
import type { TimeView } from "@/lib/timeView";

import { font, xOf, type Frame } from "./draw";
import type { Palette } from "./palette";

export interface YAxis {
  readonly min: number;
  readonly max: number;
  readonly log: boolean;
  readonly splits: readonly number[];
  readonly format: (value: number) => string;
}

export const TIME_AXIS_PX = 26;
export const RIGHT_PX = 8;
const ABOVE_PX = 10;
const BELOW_PX = 8;
const LABEL_PX = 96;
const FONT_PX = 11.5;

export interface LanePlace {
  readonly widthPx: number;
  readonly heightPx: number;
  /** Width of the value axis, the same in all lanes so that they line up. */
  readonly gutterPx: number;
  readonly view: TimeView;
  readonly y: YAxis | null;
  readonly timeAxis: boolean;
}

/** The plot area of the lane, inside its axes. */
export function frameOf(ctx: CanvasRenderingContext2D, { widthPx, heightPx, gutterPx, view, y, timeAxis }: LanePlace, dpr: number): Frame {
  const above = y === null ? 0 : ABOVE_PX;
  const below = timeAxis ? TIME_AXIS_PX : y === null ? 0 : BELOW_PX;
  const left = Math.round(gutterPx * dpr);
  const top = Math.round(above * dpr);
  return {
    ctx,
    left,
    top,
    width: Math.max(1, Math.round((widthPx - RIGHT_PX) * dpr) - left),
    height: Math.max(1, Math.round((heightPx - below) * dpr) - top),
    view,
    dpr,
  };
}

export function drawAxes(frame: Frame, { y, timeAxis }: LanePlace, palette: Palette): void {
  const { ctx, left, top, width, height, view, dpr } = frame;
  const line = Math.max(1, Math.round(dpr));
  ctx.font = font(frame, FONT_PX, 400);
  const step = tickStep(view.toUs - view.fromUs, width / dpr / LABEL_PX);
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (const us of tickPositions(view, step)) {
    const x = xOf(frame, us);
    ctx.fillStyle = palette.line;
    ctx.fillRect(Math.round(x - line / 2), top, line, height + (timeAxis ? 5 * dpr : 0));
    // A label that the right edge would cut off is left out.
    if (!timeAxis || x > left + width - LABEL_PX * 0.3 * dpr) continue;
    ctx.fillStyle = palette.dim;
    ctx.fillText(tickLabel(us, step), x, top + height + 10 * dpr);
  }
  if (y === null) return;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  let last = Infinity;
  for (const value of y.splits) {
    const at = top + height * (1 - shareOf(y, value));
    ctx.fillStyle = palette.line;
    ctx.fillRect(left, Math.round(at - line / 2), width, line);
    // Too close to the label below it.
    if (last - at < FONT_PX * dpr) continue;
    last = at;
    ctx.fillStyle = palette.dim;
    ctx.fillText(y.format(value), left - 8 * dpr, at);
  }
}

/** 0 at the bottom of the axis, 1 at its top. */
function shareOf({ min, max, log }: YAxis, value: number): number {
  return log ? Math.log(value / min) / Math.log(max / min) : (value - min) / (max - min);
}
