/** What each key does while the timeline has the focus. Pure. */

import { panBy, span, zoomAround, type TimeView } from "@/lib/timeView";

export interface KeyState {
  readonly view: TimeView;
  readonly extent: TimeView;
  readonly cursorUs: number | null;
  readonly selection: TimeView | null;
  readonly stepUs: number;
}

export interface KeyResult {
  readonly view?: TimeView;
  readonly cursorUs?: number | null;
  readonly selection?: TimeView | null;
}

/** null: the key has no meaning here. */
export function onChartKey(key: string, shift: boolean, state: KeyState): KeyResult | null {
  const { view, extent, stepUs } = state;
  const center = view.fromUs + span(view) / 2;
  const cursor = state.cursorUs ?? Math.floor(center / stepUs) * stepUs + stepUs / 2;
  switch (key) {
    case "ArrowLeft":
    case "ArrowRight": {
      const sign = key === "ArrowLeft" ? -1 : 1;
      if (shift) return { view: panBy(view, sign * span(view) * 0.2, extent) };
      const moved = state.cursorUs === null ? cursor : cursor + sign * stepUs;
      const next = Math.min(Math.max(moved, extent.fromUs), extent.toUs - 1);
      const outside = next < view.fromUs || next >= view.toUs;
      return { cursorUs: next, ...(outside ? { view: panBy(view, next < view.fromUs ? -span(view) / 2 : span(view) / 2, extent) } : {}) };
    }
    case "+":
    case "=":
    case "ArrowUp":
      return { view: zoomAround(view, 0.5, cursor, extent) };
    case "-":
    case "ArrowDown":
      return { view: zoomAround(view, 2, cursor, extent) };
    case "0":
      return { view: extent };
    case "Home":
      return { view: panBy(view, extent.fromUs - view.fromUs, extent) };
    case "End":
      return { view: panBy(view, extent.toUs - view.toUs, extent) };
    case " ":
    case "Enter": {
      // The tick under the cursor becomes the selection; with Shift, the selection extends to it.
      const from = Math.floor(cursor / stepUs) * stepUs;
      const tick = { fromUs: from, toUs: from + stepUs };
      if (!shift || state.selection === null) return { selection: tick, cursorUs: cursor };
      return {
        selection: { fromUs: Math.min(tick.fromUs, state.selection.fromUs), toUs: Math.max(tick.toUs, state.selection.toUs) },
        cursorUs: cursor,
      };
    }
    case "Escape":
      return state.selection === null && state.cursorUs === null ? null : { selection: null, cursorUs: null };
    default:
      return null;
  }
}
