/** Mouse, wheel, and touch on the timeline: hover, pin, zoom, pan, pinch, select. The wheel alone scrolls the page. */

import { useEffect, useEffectEvent, type RefObject } from "react";

import { clampView, panBy, sameView, span, zoomAround, type TimeView } from "@/lib/timeView";

export type DragMode = "zoom" | "select";

export interface PointerInput {
  readonly view: TimeView;
  readonly extent: TimeView;
  readonly dragMode: DragMode;
  readonly onView: (view: TimeView) => void;
  readonly onCursor: (us: number | null) => void;
  /** A click or a tap. */
  readonly onPin: (us: number) => void;
  readonly onSelection: (selection: TimeView) => void;
  /** The range that the mouse marks for zooming; null: released. */
  readonly onMark: (marked: TimeView | null) => void;
  /** A double-click. */
  readonly onBack: () => void;
}

/** A press that moves less than this counts as a click. */
const CLICK_PX = 4;

/** State when two fingers touch down: the view, the time at their middle, and their distance. */
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
    let downAt: { x: number; us: number; does: "pan" | "zoom" | "select" } | null = null;
    let moved = false;
    let marked: TimeView | null = null;

    const timeAt = (clientX: number): number => {
      const box = node.getBoundingClientRect();
      const { view } = current();
      return view.fromUs + ((clientX - box.left) / Math.max(1, box.width)) * span(view);
    };

    const down = (event: PointerEvent): void => {
      if (event.pointerType === "mouse" && event.button !== 0) return;
      node.setPointerCapture(event.pointerId);
      pressed.set(event.pointerId, { x: event.clientX, y: event.clientY });
      // The second finger ends the gesture of the first; lifting them is not a click.
      moved = pressed.size > 1;
      const drags = event.pointerType === "mouse" ? "zoom" : "pan";
      downAt = moved ? null : { x: event.clientX, us: timeAt(event.clientX), does: event.shiftKey || current().dragMode === "select" ? "select" : drags };
      if (!moved) return;
      current().onCursor(null);
      regrip();
    };

    const regrip = (): void => {
      const { middleX, distancePx } = fingers(pressed);
      grip = pressed.size > 1 ? { view: current().view, us: timeAt(middleX), distancePx } : null;
    };

    /** Two fingers: their distance zooms, their middle pans, at any angle. Computed from where they touched down, so that lost frames do not add up. */
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
      if (downAt === null || downAt.does === "pan") {
        onCursor(null);
        onView(panBy(view, timeAt(before.x) - timeAt(event.clientX), extent));
        return;
      }
      const here = timeAt(event.clientX);
      const from = Math.max(extent.fromUs, Math.min(downAt.us, here));
      const dragged = { fromUs: Math.round(from), toUs: Math.round(Math.min(extent.toUs, Math.max(downAt.us, here))) };
      if (downAt.does === "select") {
        onSelection(dragged);
        onCursor(here);
      } else {
        onCursor(null);
        mark(dragged);
      }
    };

    const mark = (dragged: TimeView | null): void => {
      marked = dragged;
      current().onMark(dragged);
    };

    const up = (event: PointerEvent): void => {
      const wasDown = pressed.delete(event.pointerId);
      regrip();
      if (!wasDown) return;
      const zoomTo = marked;
      if (zoomTo !== null) mark(null);
      if (event.type === "pointercancel") return;
      const { extent, onView, onPin } = current();
      if (zoomTo !== null) onView(clampView(zoomTo, extent));
      else if (!moved) onPin(timeAt(event.clientX));
    };

    const leave = (event: PointerEvent): void => {
      // Lifting a finger also fires a leave event; its readout stays until the next tap.
      if (event.pointerType === "mouse") current().onCursor(null);
    };

    /** Two fingers always control the timeline, even when they move vertically; one finger can still scroll the page. */
    const touch = (event: TouchEvent): void => {
      if (event.touches.length > 1) event.preventDefault();
    };

    const wheel = (event: WheelEvent): void => {
      const { view, extent, onView } = current();
      const zooms = event.ctrlKey || event.metaKey;
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      // Vertical movement scrolls the page.
      if (!zooms && !sideways) return;
      event.preventDefault();
      const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const next = zooms
        ? zoomAround(view, Math.exp(Math.max(-60, Math.min(60, event.deltaY * pixels)) * 0.004), timeAt(event.clientX), extent)
        : panBy(view, ((event.deltaX * pixels) / Math.max(1, node.clientWidth)) * span(view), extent);
      if (!sameView(next, view)) onView(next);
    };

    const back = (): void => current().onBack();

    node.addEventListener("pointerdown", down);
    node.addEventListener("pointermove", move);
    node.addEventListener("pointerup", up);
    node.addEventListener("pointercancel", up);
    node.addEventListener("pointerleave", leave);
    node.addEventListener("dblclick", back);
    node.addEventListener("wheel", wheel, { passive: false });
    node.addEventListener("touchstart", touch, { passive: false });
    node.addEventListener("touchmove", touch, { passive: false });
    return () => {
      node.removeEventListener("pointerdown", down);
      node.removeEventListener("pointermove", move);
      node.removeEventListener("pointerup", up);
      node.removeEventListener("pointercancel", up);
      node.removeEventListener("pointerleave", leave);
      node.removeEventListener("dblclick", back);
      node.removeEventListener("wheel", wheel);
      node.removeEventListener("touchstart", touch);
      node.removeEventListener("touchmove", touch);
    };
  }, [surface]);
}

/** Middle and distance of the first two fingers. Below a finger's width, the distance means nothing. */
function fingers(pressed: ReadonlyMap<number, { readonly x: number; readonly y: number }>): { readonly middleX: number; readonly distancePx: number } {
  const [a, b] = [...pressed.values()];
  if (a === undefined || b === undefined) return { middleX: 0, distancePx: 1 };
  return { middleX: (a.x + b.x) / 2, distancePx: Math.max(24, Math.hypot(a.x - b.x, a.y - b.y)) };
}
