/** The visible span [fromUs, toUs) of a time axis, with zooming and panning. Pure. */

export interface TimeView {
  readonly fromUs: number;
  readonly toUs: number;
}

/** Two ticks of the finest grid (10 ms): zooming in further shows nothing new. */
const MIN_SPAN_US = 20_000;

export function span(view: TimeView): number {
  return view.toUs - view.fromUs;
}

/** The view moved inside `extent` and no wider than it; its width is kept if possible. */
export function clampView(view: TimeView, extent: TimeView): TimeView {
  const width = Math.min(Math.max(span(view), MIN_SPAN_US), span(extent));
  const from = Math.min(Math.max(view.fromUs, extent.fromUs), extent.toUs - width);
  return { fromUs: Math.round(from), toUs: Math.round(from + width) };
}

/** `factor` < 1 zooms in; the time at `anchorUs` keeps its position on the screen. */
export function zoomAround(view: TimeView, factor: number, anchorUs: number, extent: TimeView): TimeView {
  const width = Math.min(Math.max(span(view) * factor, MIN_SPAN_US), span(extent));
  const share = span(view) > 0 ? (anchorUs - view.fromUs) / span(view) : 0.5;
  const from = anchorUs - share * width;
  return clampView({ fromUs: from, toUs: from + width }, extent);
}

export function panBy(view: TimeView, deltaUs: number, extent: TimeView): TimeView {
  return clampView({ fromUs: view.fromUs + deltaUs, toUs: view.toUs + deltaUs }, extent);
}

export function around(centerUs: number, widthUs: number, extent: TimeView): TimeView {
  return clampView({ fromUs: centerUs - widthUs / 2, toUs: centerUs + widthUs / 2 }, extent);
}

export function sameView(a: TimeView, b: TimeView): boolean {
  return a.fromUs === b.fromUs && a.toUs === b.toUs;
}

export function covers(outer: TimeView, inner: TimeView): boolean {
  return outer.fromUs <= inner.fromUs && outer.toUs >= inner.toUs;
}

/** The tile of detail data to load for a view: wider than the view, on a coarse grid, so that small pans need no new data. */
export function detailTile(view: TimeView, extent: TimeView): TimeView {
  const raster = 2 ** Math.ceil(Math.log2(Math.max(span(view), MIN_SPAN_US)));
  const from = Math.floor(view.fromUs / raster) * raster - raster / 2;
  const to = Math.ceil(view.toUs / raster) * raster + raster / 2;
  return { fromUs: Math.round(Math.max(from, extent.fromUs)), toUs: Math.round(Math.min(to, extent.toUs)) };
}
