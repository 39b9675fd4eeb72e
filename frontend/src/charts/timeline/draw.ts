/** Drawing shared by all lanes. Coordinates are canvas (device) pixels. */

import type { TimeView } from "@/lib/timeView";

import type { Palette } from "./palette";

export interface Frame {
  readonly ctx: CanvasRenderingContext2D;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly view: TimeView;
  /** Device pixels per CSS pixel. */
  readonly dpr: number;
}

export const xOf = (frame: Frame, us: number): number =>
  frame.left + ((us - frame.view.fromUs) / (frame.view.toUs - frame.view.fromUs)) * frame.width;

/** Pixel edges of a span, clipped to the frame; null if it is outside. At least one pixel wide. */
export function edges(frame: Frame, span: TimeView): readonly [number, number] | null {
  if (span.toUs <= frame.view.fromUs || span.fromUs >= frame.view.toUs) return null;
  const from = Math.max(frame.left, xOf(frame, span.fromUs));
  const to = Math.min(frame.left + frame.width, xOf(frame, span.toUs));
  return [from, Math.max(to, from + frame.dpr)];
}

export function clipped(frame: Frame, paint: () => void): void {
  const { ctx } = frame;
  ctx.save();
  ctx.beginPath();
  ctx.rect(frame.left, frame.top, frame.width, frame.height);
  ctx.clip();
  paint();
  ctx.restore();
}

/** Throttled spans: a soft band, and a solid edge on top so that color is not the only sign. */
export function throttledBands(frame: Frame, spans: readonly TimeView[], palette: Palette, edge: boolean): void {
  const { ctx } = frame;
  for (const span of spans) {
    const at = edges(frame, span);
    if (at === null) continue;
    ctx.fillStyle = palette.hotSoft;
    ctx.fillRect(at[0], frame.top, at[1] - at[0], frame.height);
    if (!edge) continue;
    ctx.fillStyle = palette.hot;
    ctx.fillRect(at[0], frame.top, at[1] - at[0], 3 * frame.dpr);
  }
}

/** Missing data as diagonal lines, so that a gap never looks like a zero. */
export function hatched(frame: Frame, spans: readonly TimeView[], palette: Palette): void {
  const { ctx, dpr } = frame;
  for (const span of spans) {
    const at = edges(frame, span);
    if (at === null) continue;
    ctx.save();
    ctx.beginPath();
    ctx.rect(at[0], frame.top, at[1] - at[0], frame.height);
    ctx.clip();
    ctx.strokeStyle = palette.hatch;
    ctx.lineWidth = dpr;
    ctx.beginPath();
    const step = 7 * dpr;
    const start = Math.floor((at[0] - frame.height) / step) * step;
    for (let x = start; x < at[1]; x += step) {
      ctx.moveTo(x, frame.top + frame.height);
      ctx.lineTo(x + frame.height, frame.top);
    }
    ctx.stroke();
    ctx.restore();
  }
}

export function font(frame: Frame, sizePx: number, weight = 500): string {
  return `${weight} ${sizePx * frame.dpr}px "Inter Variable", system-ui, sans-serif`;
}

/** Text on a background strip, readable over bars and dots. */
export function label(frame: Frame, text: string, x: number, y: number, color: string, palette: Palette, align: CanvasTextAlign = "left"): void {
  const { ctx, dpr } = frame;
  ctx.font = font(frame, 11, 560);
  ctx.textAlign = align;
  ctx.textBaseline = "middle";
  const width = ctx.measureText(text).width;
  const from = align === "right" ? x - width : align === "center" ? x - width / 2 : x;
  ctx.globalAlpha = 0.82;
  ctx.fillStyle = palette.bg;
  ctx.fillRect(from - 3 * dpr, y - 8 * dpr, width + 6 * dpr, 16 * dpr);
  ctx.globalAlpha = 1;
  ctx.fillStyle = color;
  ctx.fillText(text, x, y);
}
