import { useId, useMemo, useRef, useState, type KeyboardEvent, type ReactElement } from "react";

import { RIGHT_PX, TIME_AXIS_PX, type YAxis } from "@/charts/timeline/axes";
import { onChartKey } from "@/charts/timeline/keyboard";
import { usePalette } from "@/charts/timeline/palette";
import { cpuTop, decades, latencyRange } from "@/charts/timeline/scales";
import { summarize } from "@/charts/timeline/summary";
import { usePointer } from "@/charts/timeline/usePointer";
import { useWidth } from "@/charts/useWidth";
import { microseconds, significant } from "@/lib/format";
import { span, type TimeView } from "@/lib/timeView";
import { useRested, WORDS_MS } from "@/lib/useRested";

import styles from "./Compare.module.css";
import { CompareReadout } from "./CompareReadout";
import type { Run } from "./run";
import { RunLanes } from "./RunLanes";

export interface CompareProps {
  /** The runs to show, recorded first. */
  runs: readonly Run[];
  extent: TimeView;
  view: TimeView;
  onView: (view: TimeView) => void;
  /** Grays out the last run while a newer one is loading. */
  stale: boolean;
}

/** Runs of the same window above each other: one time axis, one scale per lane, one cursor through all. */
export function Compare({ runs, extent, view, onView, stale }: CompareProps): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const surface = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(host);
  const palette = usePalette();
  const helpId = useId();
  const [cursorUs, setCursorUs] = useState<number | null>(null);
  const [byKey, setByKey] = useState(false);
  const [marked, setMarked] = useState<TimeView | null>(null);

  const gutterPx = widthPx < 640 ? 50 : 66;
  const hasGc = runs.some(({ model }) => model.gc.length > 0);
  const hasLatency = runs.some(({ model }) => model.rate.maxUs.some((us) => us > 0));
  const top = useMemo(() => Math.max(...runs.map(({ model }) => cpuTop(model))), [runs]);
  const latency = useMemo(() => {
    const ranges = runs.map(({ model }) => latencyRange(model));
    return { lowLog: Math.min(...ranges.map(({ lowLog }) => lowLog)), highLog: Math.max(...ranges.map(({ highLog }) => highLog)) };
  }, [runs]);
  const cpuAxis = useMemo<YAxis>(() => ({ min: 0, max: top, log: false, splits: [0, top / 2, top], format: (value) => significant(value) }), [top]);
  const latencyAxis = useMemo<YAxis>(
    () => ({ min: 10 ** latency.lowLog, max: 10 ** latency.highLog, log: true, splits: decades(latency.lowLog, latency.highLog), format: microseconds }),
    [latency],
  );

  const hover = (us: number | null): void => {
    setByKey(false);
    setCursorUs(us);
  };
  usePointer(surface, { view, extent, dragMode: "zoom", onView, onCursor: hover, onPin: hover, onSelection: () => undefined, onMark: setMarked, onBack: () => onView(extent) });

  const press = (event: KeyboardEvent): void => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const result = onChartKey(event.key, event.shiftKey, { view, extent, cursorUs, selection: null, stepUs: runs[0]?.model.cpu.stepUs ?? 100_000 });
    if (result === null) return;
    event.preventDefault();
    if (result.view !== undefined) onView(result.view);
    if (result.cursorUs === undefined) return;
    setByKey(true);
    setCursorUs(result.cursorUs);
  };

  // The text may lag behind a moving pointer; the chart may not.
  const restingView = useRested(view, WORDS_MS);
  const words = useMemo(() => runs.map(({ title, model }) => `${title}: ${summarize(model, restingView)}`).join(" "), [runs, restingView]);
  const left = cursorUs === null ? 0 : ((cursorUs - view.fromUs) / span(view)) * 100;
  const cursorVisible = cursorUs !== null && left >= 0 && left <= 100;

  return (
    <div ref={host} className={styles["compare"]}>
      {/* An interactive picture: focusable, driven by keys, described in words. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <div
        className={styles["lanes"]}
        role="application"
        aria-roledescription="timeline"
        aria-label={words}
        aria-describedby={helpId}
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        onKeyDown={press}
        onBlur={() => byKey && setCursorUs(null)}
      >
        {widthPx > 0 &&
          runs.map((run, index) => {
            const last = index === runs.length - 1;
            return (
              <div key={index} className={styles["run"]} data-stale={last && stale}>
                <p className={styles["title"]}>{run.title}</p>
                <RunLanes
                  model={run.model}
                  lane={{ widthPx, gutterPx, view, palette }}
                  top={top}
                  cpuAxis={cpuAxis}
                  latency={hasLatency ? { axis: latencyAxis, ...latency } : null}
                  hasGc={hasGc}
                  timeAxis={last}
                />
              </div>
            );
          })}
        <div ref={surface} className={styles["surface"]} data-mode="compare" style={{ left: gutterPx, right: RIGHT_PX }}>
          {marked !== null && (
            <span
              className={styles["marked"]}
              style={{ left: `${((marked.fromUs - view.fromUs) / span(view)) * 100}%`, right: `${((view.toUs - marked.toUs) / span(view)) * 100}%`, bottom: TIME_AXIS_PX }}
            />
          )}
          {cursorVisible && (
            <>
              <span className={styles["cursor"]} style={{ left: `${left}%`, bottom: TIME_AXIS_PX }} />
              <div className={styles["tooltip"]} data-side={left > 55 ? "left" : "right"} style={{ left: `${left}%` }}>
                <CompareReadout runs={runs} us={cursorUs} />
              </div>
            </>
          )}
        </div>
      </div>
      <p id={helpId} className="visually-hidden">
        Arrow keys move one tick, Shift and arrow keys pan, plus and minus zoom, 0 shows everything. The timeline at the top of the page follows.
      </p>
      <div className="visually-hidden" aria-live="polite">
        {byKey && cursorUs !== null && <CompareReadout runs={runs} us={cursorUs} />}
      </div>
    </div>
  );
}
