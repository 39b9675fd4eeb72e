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

/** Two fingers as they came down: what was seen, the time between them, how far apart they were. */
interface Grip {
  readonly view: TimeView;
  readonly us: number;
  readonly distancePx: number;
}

export function usePointer(surface: RefObject<HTMLElement | null>, input: PointerInput): void {
  const current = useEffectEvent(() => input);

  useEffect(() => {
    const node = surface.current;
    if (node === null) return undefined;
    const pressed = new Map<number, { x: number; y: number }>();
    let grip: Grip | null = null;
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
      pressed.set(event.pointerId, { x: event.clientX, y: event.clientY });
      // The second finger ends what the first one began; lifting them is no click.
      moved = pressed.size > 1;
      downAt = moved ? null : { x: event.clientX, us: timeAt(event.clientX), selecting: event.shiftKey || current().dragMode === "select" };
      if (!moved) return;
      current().onCursor(null);
      regrip();
    };

    const regrip = (): void => {
      const { middleX, distancePx } = fingers(pressed);
      grip = pressed.size > 1 ? { view: current().view, us: timeAt(middleX), distancePx } : null;
    };

    /** Two fingers: their distance zooms, their middle pans, however they are turned. Reckoned from where they came down, so that no lost frame adds up. */
    const pinch = (from: Grip): void => {
      const now = fingers(pressed);
      const box = node.getBoundingClientRect();
      const width = span(from.view);
      const fromUs = from.us - ((now.middleX - box.left) / Math.max(1, box.width)) * width;
      current().onView(zoomAround({ fromUs, toUs: fromUs + width }, from.distancePx / now.distancePx, from.us, current().extent));
    };

    const move = (event: PointerEvent): void => {
      const { view, extent, onView, onCursor, onSelection } = current();
      const before = pressed.get(event.pointerId);
      if (before === undefined) {
        onCursor(timeAt(event.clientX));
        return;
      }
      pressed.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (grip !== null) {
        pinch(grip);
        return;
      }
      if (!moved && downAt !== null && Math.abs(event.clientX - downAt.x) < CLICK_PX) return;
      moved = true;
      if (downAt?.selecting === true) {
        const here = timeAt(event.clientX);
        const from = Math.max(extent.fromUs, Math.min(downAt.us, here));
        onSelection({ fromUs: Math.round(from), toUs: Math.round(Math.min(extent.toUs, Math.max(downAt.us, here))) });
        onCursor(here);
      } else {
        onCursor(null);
        onView(panBy(view, timeAt(before.x) - timeAt(event.clientX), extent));
      }
    };

    const up = (event: PointerEvent): void => {
      const wasDown = pressed.delete(event.pointerId);
      regrip();
      if (!wasDown || moved || event.type === "pointercancel") return;
      const { onCursor, onSelection } = current();
      onSelection(null);
      onCursor(timeAt(event.clientX));
    };

    const leave = (event: PointerEvent): void => {
      // A finger that is lifted leaves too; its readout stays until the next tap.
      if (event.pointerType === "mouse") current().onCursor(null);
    };

    /** Two fingers belong to the picture also when they move up and down; one finger may still scroll the page. */
    const touch = (event: TouchEvent): void => {
      if (event.touches.length > 1) event.preventDefault();
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
    node.addEventListener("touchstart", touch, { passive: false });
    node.addEventListener("touchmove", touch, { passive: false });
    return () => {
      node.removeEventListener("pointerdown", down);
      node.removeEventListener("pointermove", move);
      node.removeEventListener("pointerup", up);
      node.removeEventListener("pointercancel", up);
      node.removeEventListener("pointerleave", leave);
      node.removeEventListener("wheel", wheel);
      node.removeEventListener("touchstart", touch);
      node.removeEventListener("touchmove", touch);
    };
  }, [surface]);
}

/** Middle and distance of the first two fingers. Closer than a finger's width the distance means nothing. */
function fingers(pressed: ReadonlyMap<number, { readonly x: number; readonly y: number }>): { readonly middleX: number; readonly distancePx: number } {
  const [a, b] = [...pressed.values()];
  if (a === undefined || b === undefined) return { middleX: 0, distancePx: 1 };
  return { middleX: (a.x + b.x) / 2, distancePx: Math.max(24, Math.hypot(a.x - b.x, a.y - b.y)) };
}
