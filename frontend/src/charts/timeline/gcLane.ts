/** The GC lane: one violet bar per cycle, with its duration if there is room. */

import { duration } from "@/lib/time";

import { clipped, edges, font, throttledBands, type Frame } from "./draw";
import type { TimelineModel } from "./model";
import type { Palette } from "./palette";

export function drawGcLane(frame: Frame, model: TimelineModel, palette: Palette): void {
  clipped(frame, () => {
    throttledBands(frame, model.throttled, palette, false);
    const { ctx, dpr } = frame;
    ctx.font = font(frame, 11, 560);
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    const height = Math.min(frame.height - 4 * dpr, 18 * dpr);
    const y = frame.top + (frame.height - height) / 2;
    for (const cycle of model.gc) {
      const at = edges(frame, cycle);
      if (at === null) continue;
      const width = Math.max(at[1] - at[0], 2 * dpr);
      ctx.fillStyle = palette.gc;
      ctx.beginPath();
      ctx.roundRect(at[0], y, width, height, Math.min(3 * dpr, width / 2));
      ctx.fill();
      const text = `GC ${duration(cycle.toUs - cycle.fromUs)}`;
      if (ctx.measureText(text).width + 12 * dpr > width) continue;
      ctx.fillStyle = palette.gcInk;
      ctx.fillText(text, at[0] + 6 * dpr, y + height / 2 + 0.5 * dpr);
    }
  });
}
