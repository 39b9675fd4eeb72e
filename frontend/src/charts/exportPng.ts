/** Exports a chart as displayed to an image: canvases, SVG, and text in their positions. */

import { resolveColor } from "@/ui/theme";

export interface Caption {
  readonly title: string;
  readonly detail: string;
  /** Text below the image that explains its lines. */
  readonly notes: readonly string[];
}

const PAD_PX = 16;
const CAPTION_PX = 48;
const NOTE_PX = 18;
const NOTE_FONT_PX = 12;
/** Left out of an image: text for screen readers, and controls. */
const LEFT_OUT = ".visually-hidden, button, label, select, [role='slider'], script, style";
/** SVG properties that come from style sheets. */
const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "paint-order", "stroke-linejoin"] as const;

/** Renders the element in the page's colors, below its caption. */
export async function pngOf(element: Element, caption: Caption): Promise<Blob> {
  const box = element.getBoundingClientRect();
  const scale = Math.max(1, window.devicePixelRatio);
  const canvas = document.createElement("canvas");
  const ctx = canvas.getContext("2d");
  if (ctx === null) throw new Error("The browser provides no canvas.");
  const noteFont = `${NOTE_FONT_PX}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.font = noteFont;
  const notes = caption.notes.flatMap((note) => wrapped(ctx, `┆ ${note}`, box.width));
  canvas.width = Math.ceil((box.width + 2 * PAD_PX) * scale);
  // Setting the size clears the canvas and its state.
  canvas.height = Math.ceil((box.height + CAPTION_PX + notes.length * NOTE_PX + 2 * PAD_PX) * scale);
  ctx.scale(scale, scale);
  ctx.fillStyle = resolveColor("--bg");
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  drawCaption(ctx, caption, box.width);
  ctx.translate(PAD_PX - box.left, PAD_PX + CAPTION_PX - box.top);
  for (const part of shown(element, "canvas")) {
    const at = part.getBoundingClientRect();
    ctx.drawImage(part as HTMLCanvasElement, at.left, at.top, at.width, at.height);
  }
  for (const part of shown(element, "svg")) await drawSvg(ctx, part as SVGSVGElement);
  for (const part of shown(element, "[data-line]")) drawLine(ctx, part);
  drawTexts(ctx, element);
  ctx.font = noteFont;
  ctx.fillStyle = resolveColor("--ink");
  notes.forEach((note, at) => ctx.fillText(note, box.left, box.bottom + (at + 1) * NOTE_PX));
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob === null ? reject(new Error("The image is too large.")) : resolve(blob)), "image/png"));
}

const shown = (element: Element, selector: string): Element[] => [...element.querySelectorAll(selector)].filter((one) => one.closest(LEFT_OUT) === null && one.getBoundingClientRect().width > 0);

/** A mark over a chart that consists only of a border. */
function drawLine(ctx: CanvasRenderingContext2D, part: Element): void {
  const at = part.getBoundingClientRect();
  const style = getComputedStyle(part);
  ctx.save();
  ctx.globalAlpha = Number(style.opacity);
  ctx.strokeStyle = style.borderLeftColor;
  ctx.setLineDash(style.borderLeftStyle === "dotted" ? [1, 2] : [3, 3]);
  ctx.beginPath();
  ctx.moveTo(at.left + at.width / 2, at.top);
  ctx.lineTo(at.left + at.width / 2, at.bottom);
  ctx.stroke();
  ctx.restore();
}

/** Wraps text to a width; a longer word stays whole. */
function wrapped(ctx: CanvasRenderingContext2D, text: string, widthPx: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1) ?? ""} ${word}`.trimStart();
    if (lines.length > 0 && ctx.measureText(longer).width <= widthPx) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function drawCaption(ctx: CanvasRenderingContext2D, { title, detail }: Caption, widthPx: number): void {
  const family = getComputedStyle(document.body).fontFamily;
  ctx.textBaseline = "alphabetic";
  ctx.fillStyle = resolveColor("--ink");
  ctx.font = `600 15px ${family}`;
  ctx.fillText(title, PAD_PX, PAD_PX + 14, widthPx);
  ctx.fillStyle = resolveColor("--dim");
  ctx.font = `12px ${family}`;
  ctx.fillText(detail, PAD_PX, PAD_PX + 33, widthPx);
}

/** Word by word, so that lines break where they do on the screen. */
function drawTexts(ctx: CanvasRenderingContext2D, element: Element): void {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  ctx.textBaseline = "middle";
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (parent === null || parent.closest(`svg, ${LEFT_OUT}`) !== null) continue;
    const style = getComputedStyle(parent);
    ctx.font = style.font;
    ctx.fillStyle = style.color;
    for (const { 0: word, index } of (node.textContent ?? "").matchAll(/\S+/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const at = range.getBoundingClientRect();
      if (at.width > 0) ctx.fillText(word, at.left, at.top + at.height / 2);
    }
  }
}

async function drawSvg(ctx: CanvasRenderingContext2D, svg: SVGSVGElement): Promise<void> {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((part, index) => {
    const original = originals[index];
    if (original === undefined) return;
    const style = getComputedStyle(original);
    part.removeAttribute("class");
    part.setAttribute("style", LOOKS.map((name) => `${name}: ${style.getPropertyValue(name)}`).join("; "));
  });
  const at = svg.getBoundingClientRect();
  copy.setAttribute("width", String(at.width));
  copy.setAttribute("height", String(at.height));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  ctx.drawImage(image, at.left, at.top, at.width, at.height);
}
