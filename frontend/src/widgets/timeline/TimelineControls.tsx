import type { ReactElement, ReactNode } from "react";

import type { DragMode } from "@/charts/timeline/usePointer";
import { Button } from "@/ui/Button";

import styles from "./TimelineView.module.css";

export interface TimelineControlsProps {
  text: string;
  busy: boolean;
  dragMode: DragMode;
  onDragMode: (mode: DragMode) => void;
  /** Jump target in the timeline; null: none. */
  jump: { readonly name: string; readonly go: () => void } | null;
  onAll: () => void;
  onZoom: (factor: number) => void;
  /** More buttons. */
  children?: ReactNode;
}

export function TimelineControls({ text, busy, dragMode, onDragMode, jump, onAll, onZoom, children }: TimelineControlsProps): ReactElement {
  return (
    <div className={styles["controls"]}>
      <p className={styles["span"]}>
        {text}
        <span className={styles["hint"]}> · drag or Ctrl+scroll to zoom, double-click to go back, click to pin a tick, Shift-drag to select</span>
        <span className={styles["busy"]} data-busy={busy} aria-hidden="true" />
      </p>
      <div className={styles["buttons"]} role="group" aria-label="Zoom and pan">
        {jump !== null && (
          <Button onClick={jump.go} shortcut="z">
            {jump.name}
          </Button>
        )}
        <Button onClick={onAll}>All</Button>
        <Button onClick={() => onZoom(0.5)} aria-label="Zoom in">
          +
        </Button>
        <Button onClick={() => onZoom(2)} aria-label="Zoom out">
          −
        </Button>
        <Button onClick={() => onDragMode(dragMode === "zoom" ? "select" : "zoom")} aria-pressed={dragMode === "select"} shortcut="s">
          Select
        </Button>
        {children}
      </div>
    </div>
  );
}
