/** The connections lane: connections as an area, children as bars against their limit, the accept queue in front. */

import { count } from "@/lib/format";

import { childLimitAt, type ConnectionSeries } from "./connections";
import { clipped, label, xOf, type Frame } from "./draw";
import type { ConnectionTicks, TimelineModel } from "./model";
import type { Palette } from "./palette";
import { indexRange } from "./stats";

export interface ConnectionLaneInput {
  readonly model: TimelineModel;
  readonly top: number;
}

export function drawConnectionLane(frame: Frame, input: ConnectionLaneInput, palette: Palette): void {
  const { connections: ticks } = input.model;
  if (ticks === null) return;
  clipped(frame, () => {
    drawArea(frame, ticks, input.top, palette);
    drawChildren(frame, input, ticks, palette);
    drawBacklog(frame, ticks, input.top, palette);
    drawUpstream(frame, ticks, input.top, palette);
    drawDropped(frame, ticks, palette);
    drawLimit(frame, input, palette);
  });
}

const yOf = (frame: Frame, top: number, value: number): number => frame.top + frame.height * (1 - value / top);

/** Screen position (start and end) of each tick in the view that has a value. */
function eachTick(frame: Frame, ticks: ConnectionTicks, series: ConnectionSeries, visit: (x: number, width: number, value: number, us: number, index: number) => void): void {
  const [first, last] = indexRange(ticks.tUs, { fromUs: frame.view.fromUs - ticks.stepUs, toUs: frame.view.toUs });
  const values = ticks[series];
  for (let i = first; i < last; i += 1) {
    const value = values[i] as number;
    if (Number.isNaN(value)) continue;
    const us = ticks.tUs[i] as number;
    const x = xOf(frame, us);
    visit(x, Math.max(frame.dpr, xOf(frame, us + ticks.stepUs) - x), value, us, i);
  }
}

function drawArea(frame: Frame, ticks: ConnectionTicks, top: number, palette: Palette): void {
  const { ctx, dpr } = frame;
  ctx.fillStyle = palette.cool;
  eachTick(frame, ticks, "connections", (x, width, value) => {
    const y = yOf(frame, top, value);
    ctx.globalAlpha = 0.18;
    ctx.fillRect(x, y, width, frame.top + frame.height - y);
    ctx.globalAlpha = 0.9;
    ctx.fillRect(x, y - dpr / 2, width, dpr);
  });
  ctx.globalAlpha = 1;
}

function drawChildren(frame: Frame, { model, top }: ConnectionLaneInput, ticks: ConnectionTicks, palette: Palette): void {
  const { ctx, dpr } = frame;
  eachTick(frame, ticks, "children", (x, width, value, us) => {
    const limit = childLimitAt(model.childLimits, us);
    const y = yOf(frame, top, value);
    ctx.fillStyle = palette.cool;
    ctx.globalAlpha = 0.75;
    ctx.fillRect(x, y, width, frame.top + frame.height - y);
    ctx.globalAlpha = 1;
    // The top of the bar marks the limit, which is harmless until a connection waits.
    if (limit === null || value < limit) return;
    ctx.fillStyle = palette.limit;
    ctx.fillRect(x, y, width, 3 * dpr);
  });
}

function drawBacklog(frame: Frame, ticks: ConnectionTicks, top: number, palette: Palette): void {
  const { ctx } = frame;
  ctx.fillStyle = palette.hot;
  // On top of the children: together they are the clients' connections.
  eachTick(frame, ticks, "backlog", (x, width, value, _us, index) => {
    if (value <= 0) return;
    const served = ticks.children[index] as number;
    const from = Number.isNaN(served) ? 0 : served;
    const y = yOf(frame, top, from + value);
    ctx.fillRect(x, y, width, yOf(frame, top, from) - y);
  });
}

function drawUpstream(frame: Frame, ticks: ConnectionTicks, top: number, palette: Palette): void {
  const { ctx, dpr } = frame;
  ctx.strokeStyle = palette.ink;
  ctx.lineWidth = 1.5 * dpr;
  ctx.setLineDash([4 * dpr, 3 * dpr]);
  ctx.beginPath();
  let endX = -1;
  eachTick(frame, ticks, "upstream", (x, width, value) => {
    const y = yOf(frame, top, value);
    if (Math.abs(x - endX) > dpr) ctx.moveTo(x, y);
    else ctx.lineTo(x, y);
    ctx.lineTo(x + width, y);
    endX = x + width;
  });
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Dropped connection attempts: a mark at the top, regardless of the scale. */
function drawDropped(frame: Frame, ticks: ConnectionTicks, palette: Palette): void {
  const { ctx, dpr } = frame;
  ctx.fillStyle = palette.hot;
  eachTick(frame, ticks, "dropped", (x, width, value) => {
    if (value <= 0) return;
    const middle = x + width / 2;
    ctx.beginPath();
    ctx.moveTo(middle - 4 * dpr, frame.top);
    ctx.lineTo(middle + 4 * dpr, frame.top);
    ctx.lineTo(middle, frame.top + 7 * dpr);
    ctx.fill();
  });
}

function drawLimit(frame: Frame, { model, top }: ConnectionLaneInput, palette: Palette): void {
  const { ctx, dpr, view } = frame;
  ctx.lineWidth = 1.5 * dpr;
  model.childLimits.forEach(({ fromUs, limit }, index) => {
    const from = index === 0 ? view.fromUs : Math.max(fromUs, view.fromUs);
    const to = Math.min(model.childLimits[index + 1]?.fromUs ?? view.toUs, view.toUs);
    if (from >= to) return;
    const offScale = limit > top;
    const y = offScale ? frame.top + dpr : yOf(frame, top, limit);
    ctx.strokeStyle = palette.limit;
    ctx.setLineDash([6 * dpr, 4 * dpr]);
    ctx.beginPath();
    ctx.moveTo(xOf(frame, from), y);
    ctx.lineTo(xOf(frame, to), y);
    ctx.stroke();
    ctx.setLineDash([]);
    label(frame, `limit ${count(limit)} children${offScale ? " ↑" : ""}`, xOf(frame, to) - 6 * dpr, y + (y - frame.top < 18 * dpr ? 11 : -10) * dpr, palette.limit, palette, "right");
  });
}
