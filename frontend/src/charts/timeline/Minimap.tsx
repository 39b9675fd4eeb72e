import { useEffect, useRef, type KeyboardEvent, type PointerEvent, type ReactElement } from "react";

import { around, span, type TimeView } from "@/lib/timeView";

import { connectionTop } from "./connections";
import { isHot } from "./dataLane";
import { laneTop } from "./lanes";
import { limitAt, type TimelineModel } from "./model";
import type { Palette } from "./palette";
import { cpuTop } from "./scales";
import styles from "./Minimap.module.css";

export interface MinimapProps {
  model: TimelineModel;
  extent: TimeView;
  view: TimeView;
  onView: (view: TimeView) => void;
  widthPx: number;
  palette: Palette;
  lead: "cpu" | "connections" | "lanes";
}

const HEIGHT = 34;

/** The whole recording in one strip, with the visible part framed. Drag or click to move it. */
export function Minimap({ model, extent, view, onView, widthPx, palette, lead }: MinimapProps): ReactElement {
  const canvas = useRef<HTMLCanvasElement>(null);

  useEffect(() => {
    const ctx = canvas.current?.getContext("2d");
    if (canvas.current === null || ctx == null || widthPx <= 0) return;
    const dpr = window.devicePixelRatio;
    canvas.current.width = Math.round(widthPx * dpr);
    canvas.current.height = Math.round(HEIGHT * dpr);
    ctx.clearRect(0, 0, ctx.canvas.width, ctx.canvas.height);
    if (lead === "lanes") paintLane(ctx, model, extent, palette);
    else if (lead === "connections") paintConnections(ctx, model, extent, palette);
    else paint(ctx, model, extent, palette);
  }, [model, extent, widthPx, palette, lead]);

  const share = (us: number): number => ((us - extent.fromUs) / span(extent)) * 100;
  const seek = (event: PointerEvent<HTMLDivElement>): void => {
    if (event.buttons === 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    if (event.type === "pointerdown") event.currentTarget.setPointerCapture(event.pointerId);
    onView(around(extent.fromUs + ((event.clientX - box.left) / box.width) * span(extent), span(view), extent));
  };
  const key = (event: KeyboardEvent): void => {
    const sign = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (sign === 0) return;
    event.preventDefault();
    onView(around(view.fromUs + span(view) / 2 + sign * span(view) * 0.5, span(view), extent));
  };

  return (
    <div
      className={styles["minimap"]}
      style={{ height: HEIGHT }}
      role="slider"
      tabIndex={0}
      aria-label="Position in the recording"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share(view.fromUs + span(view) / 2))}
      onPointerDown={seek}
      onPointerMove={seek}
      onKeyDown={key}
    >
      <canvas ref={canvas} style={{ width: "100%", height: HEIGHT }} />
      <span className={styles["window"]} style={{ left: `${share(view.fromUs)}%`, width: `max(4px, ${share(view.toUs) - share(view.fromUs)}%)` }} />
    </div>
  );
}

function paint(ctx: CanvasRenderingContext2D, model: TimelineModel, extent: TimeView, palette: Palette): void {
  const { width, height } = ctx.canvas;
  const perUs = width / span(extent);
  const top = cpuTop(model);
  const barWidth = Math.max(1, model.cpu.stepUs * perUs);
  for (const throttled of model.throttled) {
    ctx.fillStyle = palette.hotSoft;
    ctx.fillRect((throttled.fromUs - extent.fromUs) * perUs, 0, Math.max(1, (throttled.toUs - throttled.fromUs) * perUs), height);
  }
  for (const over of [false, true]) {
    ctx.fillStyle = over ? palette.hot : palette.cool;
    ctx.globalAlpha = over ? 1 : 0.55;
    for (let i = 0; i < model.cpu.tUs.length; i += 1) {
      const value = model.cpu.cpus[i] as number;
      const at = model.cpu.tUs[i] as number;
      const limit = limitAt(model.limits, at);
      if (Number.isNaN(value) || (limit !== null && value > limit) !== over) continue;
      const bar = (value / top) * height;
      ctx.fillRect((at - extent.fromUs) * perUs, height - bar, barWidth, bar);
    }
  }
  ctx.globalAlpha = 1;
}

/** The first lane, which shows the cause. */
function paintLane(ctx: CanvasRenderingContext2D, model: TimelineModel, extent: TimeView, palette: Palette): void {
  const lane = model.lanes[0];
  if (lane === undefined) return;
  const { width, height } = ctx.canvas;
  const perUs = width / span(extent);
  const top = laneTop(lane);
  for (const line of lane.lines) {
    line.values.forEach((value, i) => {
      if (!(value > 0)) return;
      const hot = line.style === "bars" ? isHot(line, value) : line.hot;
      ctx.fillStyle = hot ? palette.hot : palette.cool;
      ctx.globalAlpha = hot ? 0.9 : 0.35;
      const y = height * (1 - Math.min(1, value / top));
      const x = ((lane.tUs[i] as number) - extent.fromUs) * perUs;
      ctx.fillRect(x, y, Math.max(1, lane.stepUs * perUs), line.style === "line" ? 2 : height - y);
    });
  }
  ctx.globalAlpha = 1;
}

function paintConnections(ctx: CanvasRenderingContext2D, model: TimelineModel, extent: TimeView, palette: Palette): void {
  const { connections: ticks } = model;
  if (ticks === null) return;
  const { width, height } = ctx.canvas;
  const perUs = width / span(extent);
  const top = connectionTop(model);
  const barWidth = Math.max(1, ticks.stepUs * perUs);
  const bars: readonly (readonly [Float64Array, string, number])[] = [
    [ticks.connections, palette.cool, 0.3],
    [ticks.children, palette.cool, 0.7],
    [ticks.upstream, palette.cool, 0.3],
    [ticks.backlog, palette.hot, 1],
  ];
  for (const [values, color, alpha] of bars) {
    ctx.fillStyle = color;
    ctx.globalAlpha = alpha;
    values.forEach((value, i) => {
      if (!(value > 0)) return;
      const below = values === ticks.backlog ? (ticks.children[i] as number) || 0 : 0;
      const bar = (value / top) * height;
      ctx.fillRect(((ticks.tUs[i] as number) - extent.fromUs) * perUs, height - bar - (below / top) * height, barWidth, bar);
    });
  }
  ctx.globalAlpha = 1;
}
