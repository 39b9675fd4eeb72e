import { useId, useMemo, useState, type KeyboardEvent, type ReactElement } from "react";

import type { TimeView } from "@/lib/timeView";

import { changeMarks, markLines, markName, type ChartChange } from "./changes";
import styles from "./ChangeStrip.module.css";

export interface ChangeStripProps {
  /** Sorted by time; undefined: not loaded yet; null: loading failed. */
  changes: readonly ChartChange[] | null | undefined;
  view: TimeView;
  /** Space left and right of the time axis in the charts below. */
  leftPx: number;
  rightPx: number;
  widthPx: number;
}

/** If there is no room for a label next to its mark, it takes the whole width. */
const NARROW_PX = 560;
const MARK_PX = 24;
const GLYPHS = { before: "◂", in: "◆", after: "▸" } as const;

/** Marks of changes above charts that share a time axis: one Tab stop; arrow keys move inside it. */
export function ChangeStrip({ changes, view, leftPx, rightPx, widthPx }: ChangeStripProps): ReactElement {
  const id = useId();
  const innerPx = Math.max(1, widthPx - leftPx - rightPx);
  const marks = useMemo(() => changeMarks(changes ?? [], view, innerPx), [changes, view, innerPx]);
  const [current, setCurrent] = useState(0);
  const [open, setOpen] = useState<number | null>(null);
  const stop = Math.min(current, marks.length - 1);
  const shown = open === null ? undefined : marks[open];
  // Marks gathered at an edge must not be covered; the line through the chart shows the time of the change.
  const edge = (place: "before" | "after"): number => (marks.some((mark) => mark.place === place) ? 1.5 * MARK_PX : 0);

  const press = (event: KeyboardEvent<HTMLDivElement>): void => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -marks.length, End: marks.length }[event.key];
    if (event.key === "Escape") setOpen(null);
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.min(Math.max(stop + step, 0), marks.length - 1);
    setCurrent(next);
    event.currentTarget.querySelectorAll("button")[next]?.focus();
  };

  return (
    <div className={styles["strip"]}>
      <p className={styles["title"]} style={{ width: leftPx }} id={id}>
        Changes
      </p>
      {marks.length === 0 ? (
        <p className={styles["none"]} style={{ marginLeft: leftPx }}>
          {changes === null ? "Cannot load changes." : changes === undefined ? "" : "No changes seen or reported here."}
        </p>
      ) : (
        // Arrow keys move between the marks, which are focusable.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
        <div className={styles["marks"]} role="group" aria-labelledby={id} onKeyDown={press} style={{ left: leftPx, right: rightPx }}>
          {marks.map((mark, index) => (
            <button
              key={`${mark.place} ${mark.changes[0]?.key ?? ""}`}
              type="button"
              className={styles["mark"]}
              data-place={mark.place}
              style={{ left: mark.place === "in" ? `clamp(${edge("before")}px, ${mark.at * 100}%, calc(100% - ${edge("after")}px))` : `${mark.at * 100}%` }}
              tabIndex={index === stop ? 0 : -1}
              aria-label={markName(mark)}
              onFocus={() => {
                setCurrent(index);
                setOpen(index);
              }}
              onBlur={() => setOpen(null)}
              onPointerEnter={() => setOpen(index)}
              onPointerLeave={() => setOpen(null)}
              onClick={() => setOpen(index)}
            >
              <span aria-hidden="true">
                {GLYPHS[mark.place]}
                {mark.changes.length > 1 && <small>{mark.changes.length}</small>}
              </span>
            </button>
          ))}
          {/* Above the strip: over no data. The marks have the same words for screen readers. */}
          {shown !== undefined && (
            <ul className={styles["label"]} aria-hidden="true" style={innerPx < NARROW_PX ? { left: -leftPx, right: 0, width: "auto" } : shown.at > 0.5 ? { right: `${(1 - shown.at) * 100}%` } : { left: `${shown.at * 100}%` }}>
              {markLines(shown).map((line, index) => (
                // Two changes can have the same text.
                <li key={`${index} ${line}`}>{line}</li>
              ))}
            </ul>
          )}
        </div>
      )}
    </div>
  );
}
