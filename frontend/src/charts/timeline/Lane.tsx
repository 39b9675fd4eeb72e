import { memo, useLayoutEffect, useRef, useSyncExternalStore, type ReactElement } from "react";

import { drawAxes, frameOf, type LanePlace } from "./axes";
import type { Frame } from "./draw";
import type { Palette } from "./palette";

export interface LaneProps extends LanePlace {
  palette: Palette;
  paint: (frame: Frame) => void;
}

/** One canvas with its axes; `paint` draws the content. */
export const Lane = memo(function Lane({ widthPx, heightPx, gutterPx, view, y, timeAxis, palette, paint }: LaneProps): ReactElement {
  const canvas = useRef<HTMLCanvasElement>(null);
  const dpr = useSyncExternalStore(onResize, ratio);

  // Before the browser paints, so that the chart follows the pointer in the same frame.
  useLayoutEffect(() => {
    const node = canvas.current;
    const ctx = node?.getContext("2d");
    if (node === null || ctx == null) return;
    const [width, height] = [Math.round(widthPx * dpr), Math.round(heightPx * dpr)];
    // Setting a size, even the same one, resets the canvas.
    if (node.width !== width) node.width = width;
    if (node.height !== height) node.height = height;
    const place = { widthPx, heightPx, gutterPx, view, y, timeAxis };
    const frame = frameOf(ctx, place, dpr);
    ctx.clearRect(0, 0, width, height);
    drawAxes(frame, place, palette);
    paint(frame);
  }, [widthPx, heightPx, gutterPx, view, y, timeAxis, palette, paint, dpr]);

  return <canvas ref={canvas} aria-hidden="true" style={{ display: "block", width: widthPx, height: heightPx }} />;
});

/** Changes when the page is zoomed or the window moves to another screen. */
function onResize(changed: () => void): () => void {
  window.addEventListener("resize", changed);
  return () => window.removeEventListener("resize", changed);
}

const ratio = (): number => window.devicePixelRatio;
