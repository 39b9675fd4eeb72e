/** The CPU lane: one bar a tick against the limit, which is always drawn and labelled. */

import { lowerBound } from "@/lib/binary";
import { cpus } from "@/lib/format";
import type { TimeView } from "@/lib/timeView";

import { clipped, hatchedGaps, label, throttledBands, xOf, type Frame } from "./draw";
import { judgedTicks, limitAt, type CpuTicks, type TimelineModel } from "./model";
import type { Palette } from "./palette";
import { indexRange } from "./stats";

export interface CpuLaneInput {
  readonly model: TimelineModel;
  readonly top: number;
  readonly gaps: readonly TimeView[];
}

export function drawCpuLane(frame: Frame, input: CpuLaneInput, palette: Palette): void {
  const { model } = input;
  clipped(frame, () => {
    throttledBands(frame, model.throttled, palette, true);
    hatchedGaps(frame, input.gaps, palette);
    drawBars(frame, input, palette);
    drawLimit(frame, input, palette);
  });
}

function drawBars(frame: Frame, { model, top }: CpuLaneInput, palette: Palette): void {
  const fine = model.coarse === null ? null : model.cpu;
  drawTicks(frame, model, judgedTicks(model), top, palette, fine === null ? "solid" : "outline");
  if (fine !== null) drawTicks(frame, model, fine, top, palette, "solid");
}

/** Solid bars, or outlines where finer bars are drawn over them. */
function drawTicks(frame: Frame, model: TimelineModel, cpu: CpuTicks, top: number, palette: Palette, style: "solid" | "outline"): void {
  const { ctx } = frame;
  const [first, last] = indexRange(cpu.tUs, { fromUs: frame.view.fromUs - cpu.stepUs, toUs: frame.view.toUs });
  const barWidth = (cpu.stepUs / (frame.view.toUs - frame.view.fromUs)) * frame.width;
  const space = barWidth > 4 * frame.dpr ? Math.min(2 * frame.dpr, barWidth * 0.1) : 0;
  const over = overLimit(model);
  // Normal bars first, so that where bars share a pixel the one over the limit is seen.
  for (const hot of [false, true]) {
    ctx.fillStyle = hot ? palette.hot : palette.cool;
    for (let i = first; i < last; i += 1) {
      const value = cpu.cpus[i] as number;
      const at = cpu.tUs[i] as number;
      if (Number.isNaN(value) || over(at) !== hot) continue;
      const height = Math.max(value > 0 ? frame.dpr : 0, (value / top) * frame.height);
      const x = xOf(frame, at) + space / 2;
      const y = frame.top + frame.height - height;
      const width = Math.max(frame.dpr, barWidth - space);
      ctx.globalAlpha = style === "outline" ? 0.22 : hot ? 1 : 0.8;
      ctx.fillRect(x, y, width, height);
      if (style === "solid") continue;
      ctx.globalAlpha = 1;
      ctx.fillRect(x, y, width, 2 * frame.dpr);
    }
  }
  ctx.globalAlpha = 1;
}

/** Whether the judged tick that contains a time used more than the limit. */
function overLimit(model: TimelineModel): (us: number) => boolean {
  const { tUs, cpus: values } = judgedTicks(model);
  return (us) => {
    const at = lowerBound(tUs, us + 1) - 1;
    const value = values[at];
    const limit = limitAt(model.limits, us);
    return value !== undefined && limit !== null && value > limit;
  };
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
