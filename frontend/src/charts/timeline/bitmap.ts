/** Pixels written one by one and put on a lane at once: one canvas call, however many dots there are. */

import type { Pixels } from "./density";
import type { Frame } from "./draw";

interface Bitmap {
  readonly canvas: HTMLCanvasElement;
  readonly ctx: CanvasRenderingContext2D;
  image: ImageData;
  pixels: Pixels;
}

let kept: Bitmap | null = null;

/** Lets `write` fill blank pixels of the frame's size, then draws them. The memory is reused. */
export function drawPixels(frame: Frame, write: (pixels: Pixels) => void): void {
  const bitmap = sized(Math.max(1, Math.round(frame.width)), Math.max(1, Math.round(frame.height)));
  if (bitmap === null) return;
  bitmap.pixels.colors.fill(0);
  write(bitmap.pixels);
  bitmap.ctx.putImageData(bitmap.image, 0, 0);
  frame.ctx.drawImage(bitmap.canvas, frame.left, frame.top);
}

function sized(width: number, height: number): Bitmap | null {
  if (kept?.pixels.width === width && kept.pixels.height === height) return kept;
  const canvas = kept?.canvas ?? document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  // The CPU writes the pixels: kept in main memory, they need no round trip to the GPU.
  const ctx = kept?.ctx ?? canvas.getContext("2d", { willReadFrequently: true });
  if (ctx === null) return null;
  const image = ctx.createImageData(width, height);
  kept = { canvas, ctx, image, pixels: { width, height, colors: new Uint32Array(image.data.buffer) } };
  return kept;
}

/** A palette color, "rgb(12, 34, 56)", in the canvas format of little-endian machines, which all browsers run on. */
export function pixelColor(color: string, alpha: number): number {
  const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map(Number);
  return ((Math.round(alpha * 255) << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
