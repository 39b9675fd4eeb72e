/** The slowest answer of each tick as a mark on a log scale; a diamond if over the threshold. */

import { clipped, label, throttledBands, xOf, type Frame } from "@/charts/timeline/draw";
import type { TimelineModel } from "@/charts/timeline/model";
import type { Palette } from "@/charts/timeline/palette";
import { indexRange } from "@/charts/timeline/stats";
import { microseconds } from "@/lib/format";

export interface SlowestLaneInput {
  readonly model: TimelineModel;
  readonly lowLog: number;
  readonly highLog: number;
}

export function drawSlowestLane(frame: Frame, input: SlowestLaneInput, palette: Palette): void {
  clipped(frame, () => {
    throttledBands(frame, input.model.throttled, palette, false);
    drawThreshold(frame, input, palette);
    drawMarks(frame, input, palette);
  });
}

const yOf = (frame: Frame, { lowLog, highLog }: SlowestLaneInput, us: number): number => frame.top + ((highLog - Math.log10(Math.max(1, us))) / (highLog - lowLog)) * frame.height;

function drawThreshold(frame: Frame, input: SlowestLaneInput, palette: Palette): void {
  const { ctx, dpr } = frame;
  const y = yOf(frame, input, input.model.slowThresholdUs);
  ctx.strokeStyle = palette.hot;
  ctx.lineWidth = dpr;
  ctx.setLineDash([2 * dpr, 4 * dpr]);
  ctx.beginPath();
  ctx.moveTo(frame.left, y);
  ctx.lineTo(frame.left + frame.width, y);
  ctx.stroke();
  ctx.setLineDash([]);
  label(frame, `slow: over ${microseconds(input.model.slowThresholdUs)}`, frame.left + frame.width - 6 * dpr, y - 10 * dpr, palette.hot, palette, "right");
}

function drawMarks(frame: Frame, input: SlowestLaneInput, palette: Palette): void {
  const { ctx, dpr } = frame;
  const { rate, slowThresholdUs } = input.model;
  const [first, last] = indexRange(rate.tUs, { fromUs: frame.view.fromUs - rate.stepUs, toUs: frame.view.toUs });
  const tickPx = (rate.stepUs / (frame.view.toUs - frame.view.fromUs)) * frame.width;
  const radius = (tickPx > 6 * dpr ? 2.6 : 1.6) * dpr;
  // Slow ones last, so that they are on top.
  for (const hot of [false, true]) {
    ctx.fillStyle = hot ? palette.hot : palette.cool;
    ctx.beginPath();
    for (let i = first; i < last; i += 1) {
      const us = rate.maxUs[i] as number;
      if (Number.isNaN(us) || us > slowThresholdUs !== hot) continue;
      const x = xOf(frame, (rate.tUs[i] as number) + rate.stepUs / 2);
      const y = yOf(frame, input, us);
      if (hot) {
        const half = radius + 1.4 * dpr;
        ctx.moveTo(x, y - half);
        ctx.lineTo(x + half, y);
        ctx.lineTo(x, y + half);
        ctx.lineTo(x - half, y);
        ctx.closePath();
      } else {
        ctx.moveTo(x + radius, y);
        ctx.arc(x, y, radius, 0, Math.PI * 2);
      }
    }
    ctx.fill();
  }
}
