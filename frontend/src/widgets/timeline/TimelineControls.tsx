import type { ReactElement, ReactNode } from "react";

import type { DragMode } from "@/charts/timeline/usePointer";
import { Button } from "@/ui/Button";

import styles from "./TimelineView.module.css";

export interface TimelineControlsProps {
  text: string;
  busy: boolean;
  dragMode: DragMode;
  onDragMode: (mode: DragMode) => void;
  /** null: there is no trigger to go to. */
  onTrigger: (() => void) | null;
  onAll: () => void;
  onZoom: (factor: number) => void;
  /** Further buttons. */
  children?: ReactNode;
}

export function TimelineControls({ text, busy, dragMode, onDragMode, onTrigger, onAll, onZoom, children }: TimelineControlsProps): ReactElement {
  return (
    <div className={styles["controls"]}>
      <p className={styles["span"]}>
        {text}
        <span className={styles["hint"]}> · scroll to zoom, drag to pan, Shift-drag to select</span>
        <span className={styles["busy"]} data-busy={busy} aria-hidden="true" />
      </p>
      <div className={styles["buttons"]} role="group" aria-label="Zoom and pan">
        {onTrigger !== null && (
          <Button onClick={onTrigger} shortcut="z">
            Trigger
          </Button>
        )}
        <Button onClick={onAll}>All</Button>
        <Button onClick={() => onZoom(0.5)} aria-label="Zoom in">
          +
        </Button>
        <Button onClick={() => onZoom(2)} aria-label="Zoom out">
          −
        </Button>
        <Button onClick={() => onDragMode(dragMode === "pan" ? "select" : "pan")} aria-pressed={dragMode === "select"} shortcut="s">
          Select
        </Button>
        {children}
      </div>
    </div>
  );
}
