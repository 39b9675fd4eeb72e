/** Mouse, wheel and touch on the picture: pan, zoom, pinch, select, hover. */

import { useEffect, useEffectEvent, type RefObject } from "react";

import { panBy, sameView, span, zoomAround, type TimeView } from "@/lib/timeView";

export type DragMode = "pan" | "select";

export interface PointerInput {
  readonly view: TimeView;
  readonly extent: TimeView;
  readonly dragMode: DragMode;
  readonly onView: (view: TimeView) => void;
  readonly onCursor: (us: number | null) => void;
  /** null: a click cleared it. */
  readonly onSelection: (selection: TimeView | null) => void;
}

/** A press that moves less than this is a click. */
const CLICK_PX = 4;

export function usePointer(surface: RefObject<HTMLElement | null>, input: PointerInput): void {
  const current = useEffectEvent(() => input);

  useEffect(() => {
    const node = surface.current;
    if (node === null) return undefined;
    const pressed = new Map<number, number>();
    let pinchPx = 0;
    let downAt: { x: number; us: number; selecting: boolean } | null = null;
    let moved = false;

    const timeAt = (clientX: number): number => {
      const box = node.getBoundingClientRect();
      const { view } = current();
      return view.fromUs + ((clientX - box.left) / Math.max(1, box.width)) * span(view);
    };

    const down = (event: PointerEvent): void => {
      if (event.pointerType === "mouse" && event.button !== 0) return;
      node.setPointerCapture(event.pointerId);
      pressed.set(event.pointerId, event.clientX);
      moved = false;
      downAt = { x: event.clientX, us: timeAt(event.clientX), selecting: event.shiftKey || current().dragMode === "select" };
      if (pressed.size === 2) {
        const [a, b] = [...pressed.values()] as [number, number];
        pinchPx = Math.abs(a - b);
      }
    };

    const move = (event: PointerEvent): void => {
      const { view, extent, onView, onCursor, onSelection } = current();
      const before = pressed.get(event.pointerId);
      if (before === undefined) {
        onCursor(timeAt(event.clientX));
        return;
      }
      pressed.set(event.pointerId, event.clientX);
      if (pressed.size === 2) {
        const [a, b] = [...pressed.values()] as [number, number];
        const distance = Math.max(10, Math.abs(a - b));
        if (pinchPx > 0) onView(zoomAround(view, pinchPx / distance, timeAt((a + b) / 2), extent));
        pinchPx = distance;
        moved = true;
        return;
      }
      if (downAt === null || (!moved && Math.abs(event.clientX - downAt.x) < CLICK_PX)) return;
      moved = true;
      if (downAt.selecting) {
        const here = timeAt(event.clientX);
        const from = Math.max(extent.fromUs, Math.min(downAt.us, here));
        onSelection({ fromUs: Math.round(from), toUs: Math.round(Math.min(extent.toUs, Math.max(downAt.us, here))) });
        onCursor(here);
      } else {
        onCursor(null);
        onView(panBy(view, timeAt(before) - timeAt(event.clientX), extent));
      }
    };

    const up = (event: PointerEvent): void => {
      const wasDown = pressed.delete(event.pointerId);
      pinchPx = 0;
      if (!wasDown || moved || event.type === "pointercancel") return;
      const { onCursor, onSelection } = current();
      onSelection(null);
      onCursor(timeAt(event.clientX));
    };

    const leave = (event: PointerEvent): void => {
      // A finger that is lifted leaves too; its readout stays until the next tap.
      if (event.pointerType === "mouse") current().onCursor(null);
    };

    const wheel = (event: WheelEvent): void => {
      const { view, extent, onView } = current();
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const next = sideways
        ? panBy(view, ((event.deltaX * pixels) / Math.max(1, node.clientWidth)) * span(view), extent)
        : zoomAround(view, Math.exp(Math.max(-60, Math.min(60, event.deltaY * pixels)) * 0.004), timeAt(event.clientX), extent);
      // At the end of the zoom the wheel scrolls the page again.
      if (sameView(next, view)) return;
      event.preventDefault();
      onView(next);
    };

    node.addEventListener("pointerdown", down);
    node.addEventListener("pointermove", move);
    node.addEventListener("pointerup", up);
    node.addEventListener("pointercancel", up);
    node.addEventListener("pointerleave", leave);
    node.addEventListener("wheel", wheel, { passive: false });
    return () => {
      node.removeEventListener("pointerdown", down);
      node.removeEventListener("pointermove", move);
      node.removeEventListener("pointerup", up);
      node.removeEventListener("pointercancel", up);
      node.removeEventListener("pointerleave", leave);
      node.removeEventListener("wheel", wheel);
    };
  }, [surface]);
}
