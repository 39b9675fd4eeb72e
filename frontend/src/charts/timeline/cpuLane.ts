/** The CPU lane: one bar per tick against the limit, which is always drawn and labeled. */

import { cpus } from "@/lib/format";
import type { TimeView } from "@/lib/timeView";

import { eachBar } from "./bars";
import { clipped, hatched, label, throttledBands, xOf, type Frame } from "./draw";
import type { TimelineModel } from "./model";
import type { Palette } from "./palette";

export interface CpuLaneInput {
  readonly model: TimelineModel;
  readonly top: number;
  readonly gaps: readonly TimeView[];
}

export function drawCpuLane(frame: Frame, input: CpuLaneInput, palette: Palette): void {
  const { model } = input;
  clipped(frame, () => {
    throttledBands(frame, model.throttled, palette, true);
    hatched(frame, input.gaps, palette);
    drawBars(frame, input, palette);
    drawLimit(frame, input, palette);
  });
}

/** A bar's color depends only on its own value: over the limit is over the limit, regardless of the ticks around it. */
function drawBars(frame: Frame, { model, top }: CpuLaneInput, palette: Palette): void {
  const { ctx, view, dpr } = frame;
  // Lower layers first: among bars that share a pixel, the one over the limit is visible.
  for (const layer of ["outline", "solid"] as const) {
    for (const hot of [false, true]) {
      ctx.fillStyle = hot ? palette.hot : palette.cool;
      eachBar(model, view, (fromUs, stepUs, used, over, style) => {
        if (style !== layer || over !== hot) return;
        const barWidth = (stepUs / (view.toUs - view.fromUs)) * frame.width;
        const space = barWidth > 4 * dpr ? Math.min(2 * dpr, barWidth * 0.1) : 0;
        const height = Math.max(used > 0 ? dpr : 0, (used / top) * frame.height);
        const x = xOf(frame, fromUs) + space / 2;
        const y = frame.top + frame.height - height;
        const width = Math.max(dpr, barWidth - space);
        ctx.globalAlpha = style === "outline" ? 0.22 : hot ? 1 : 0.8;
        ctx.fillRect(x, y, width, height);
        if (style === "solid") return;
        ctx.globalAlpha = 1;
        ctx.fillRect(x, y, width, 2 * dpr);
      });
    }
  }
  ctx.globalAlpha = 1;
}

function drawLimit(frame: Frame, { model, top }: CpuLaneInput, palette: Palette): void {
  const { ctx, dpr, view } = frame;
  const steps = model.limits.length > 0 ? model.limits : [{ fromUs: view.fromUs, cpus: null }];
  ctx.lineWidth = 1.5 * dpr;
  steps.forEach((step, index) => {
    const fromUs = index === 0 ? view.fromUs : Math.max(step.fromUs, view.fromUs);
    const toUs = Math.min(steps[index + 1]?.fromUs ?? view.toUs, view.toUs);
    if (fromUs >= toUs) return;
    const right = xOf(frame, toUs) - 6 * dpr;
    if (step.cpus === null) {
      label(frame, "no CPU limit", right, frame.top + 12 * dpr, palette.dim, palette, "right");
      return;
    }
    const offScale = step.cpus > top;
    const y = offScale ? frame.top + dpr : frame.top + frame.height * (1 - step.cpus / top);
    ctx.strokeStyle = palette.limit;
    ctx.setLineDash([6 * dpr, 4 * dpr]);
    ctx.beginPath();
    ctx.moveTo(xOf(frame, fromUs), y);
    ctx.lineTo(xOf(frame, toUs), y);
    ctx.stroke();
    ctx.setLineDash([]);
    const text = `limit ${cpus(step.cpus)}${offScale ? " ↑" : ""}`;
    label(frame, text, right, y + (y - frame.top < 18 * dpr ? 11 : -10) * dpr, palette.limit, palette, "right");
  });
}
