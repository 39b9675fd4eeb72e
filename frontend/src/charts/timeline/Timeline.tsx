import { useCallback, useEffect, useId, useMemo, useRef, useState, type KeyboardEvent, type ReactElement } from "react";

import { count, microseconds, significant } from "@/lib/format";
import { span, type TimeView } from "@/lib/timeView";
import { useRested, WORDS_MS } from "@/lib/useRested";

import { ChangeLines } from "@/charts/changes/ChangeLines";
import type { ChartChange } from "@/charts/changes/changes";
import { ChangeStrip } from "@/charts/changes/ChangeStrip";

import { gaps } from "./bars";
import { DataLanes } from "./DataLanes";
import { drawConnectionLane } from "./connectionLane";
import { connectionTop, hasConnections } from "./connections";
import { unkept } from "./counts";
import { drawCpuLane } from "./cpuLane";
import { drawAnswerLane } from "./answerLane";
import type { Frame } from "./draw";
import { drawGcLane } from "./gcLane";
import { onChartKey } from "./keyboard";
import { RIGHT_PX, TIME_AXIS_PX, type YAxis } from "./axes";
import { Lane } from "./Lane";
import { Legend } from "./Legend";
import { Minimap } from "./Minimap";
import type { TimelineModel } from "./model";
import { usePalette } from "./palette";
import { Readout } from "./Readout";
import { cpuTop, decades, latencyRange, wholeSplits } from "./scales";
import { latencyTitle, summarize } from "./summary";
import styles from "./Timeline.module.css";
import { usePointer, type DragMode } from "./usePointer";
import { useWidth } from "@/charts/useWidth";

export interface TimelineProps {
  /** The data to draw; covers at least the view. */
  model: TimelineModel;
  /** The whole recording, for the strip below. */
  overview: TimelineModel;
  extent: TimeView;
  view: TimeView;
  onView: (view: TimeView) => void;
  selection: TimeView | null;
  onSelection: (selection: TimeView | null) => void;
  dragMode: DragMode;
  /** On double-click: back to the previous view. */
  onBack: () => void;
  /** Marked in the timeline: the trigger of the diagnosis. */
  momentUs: number | null;
  /** The main lane: it is drawn first and largest. */
  lead?: "cpu" | "connections";
  /** Changes, sorted by time. null: loading failed; undefined: not loaded yet. */
  changes: readonly ChartChange[] | null | undefined;
}

/** The cause's own lanes, CPU, throttling, GC, connections, and every answer of its servers on one time axis. */
export function Timeline(props: TimelineProps): ReactElement {
  const { model, overview, extent, view, onView, selection, onSelection, dragMode, onBack, momentUs, lead = "cpu", changes } = props;
  const host = useRef<HTMLDivElement>(null);
  const surface = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(host);
  const palette = usePalette();
  const helpId = useId();
  const [cursorUs, setCursorUs] = useState<number | null>(null);
  const [byKey, setByKey] = useState(false);
  // A pinned tick stays while the pointer moves, and arrow keys move it.
  const [pinned, setPinned] = useState(false);
  const [marked, setMarked] = useState<TimeView | null>(null);

  const phone = widthPx < 640;
  const gutterPx = phone ? 50 : 66;
  const hasAnswers = overview.served.length > 0;
  const hasGc = overview.gc.length > 0;

  const hasLinks = hasConnections(overview);
  const leadsByLinks = hasLinks && lead === "connections";
  const hasLanes = overview.lanes.length > 0 || overview.marks.length > 0;

  const top = useMemo(() => cpuTop(model), [model]);
  const linkTop = useMemo(() => connectionTop(overview), [overview]);
  const missing = useMemo(() => gaps(model), [model]);
  const dotless = useMemo(() => unkept(model), [model]);
  const latency = useMemo(() => latencyRange(overview, model), [overview, model]);
  const cpuAxis = useMemo<YAxis>(() => ({ min: 0, max: top, log: false, splits: [0, top / 2, top], format: (value) => significant(value) }), [top]);
  const latencyAxis = useMemo<YAxis>(
    () => ({ min: 10 ** latency.lowLog, max: 10 ** latency.highLog, log: true, splits: decades(latency.lowLog, latency.highLog), format: microseconds }),
    [latency],
  );
  const linkAxis = useMemo<YAxis>(() => ({ min: 0, max: linkTop, log: false, splits: wholeSplits(linkTop), format: count }), [linkTop]);
  const paintLinks = useCallback((frame: Frame) => drawConnectionLane(frame, { model, top: linkTop }, palette), [model, linkTop, palette]);
  const paintCpu = useCallback((frame: Frame) => drawCpuLane(frame, { model, top, gaps: missing }, palette), [model, top, missing, palette]);
  const paintAnswers = useCallback((frame: Frame) => drawAnswerLane(frame, { model, ...latency, unkept: dotless }, palette), [model, latency, dotless, palette]);
  const paintGc = useCallback((frame: Frame) => drawGcLane(frame, model, palette), [model, palette]);

  const hover = (us: number | null): void => {
    if (pinned) return;
    setByKey(false);
    setCursorUs(us);
  };
  const pin = (us: number): void => {
    const again = pinned && cursorUs !== null && Math.floor(us / model.cpu.stepUs) === Math.floor(cursorUs / model.cpu.stepUs);
    setPinned(!again);
    setByKey(false);
    setCursorUs(us);
  };
  usePointer(surface, { view, extent, dragMode, onView, onCursor: hover, onPin: pin, onSelection, onMark: setMarked, onBack });

  const press = (event: KeyboardEvent): void => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const result = onChartKey(event.key, event.shiftKey, { view, extent, cursorUs, selection, stepUs: model.cpu.stepUs });
    if (result === null) return;
    event.preventDefault();
    if (result.view !== undefined) onView(result.view);
    if (result.selection !== undefined) onSelection(result.selection);
    if (result.cursorUs !== undefined) {
      setByKey(true);
      setCursorUs(result.cursorUs);
      if (result.cursorUs === null) setPinned(false);
    }
  };

  // Regardless of the focus: a pinned tooltip must be easy to dismiss.
  useEffect(() => {
    if (!pinned) return undefined;
    const release = (event: globalThis.KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      setPinned(false);
      setCursorUs(null);
    };
    window.addEventListener("keydown", release);
    return () => window.removeEventListener("keydown", release);
  }, [pinned]);

  // The text may lag behind a moving pointer; the chart may not.
  const restingView = useRested(view, WORDS_MS);
  const words = useMemo(() => summarize(model, restingView), [model, restingView]);
  const left = (us: number): number => ((us - view.fromUs) / span(view)) * 100;
  const visible = (us: number): boolean => us >= view.fromUs && us <= view.toUs;
  const lane = { widthPx, gutterPx, view, palette };
  const links = (heightPx: number, timeAxis: boolean): ReactElement => (
    <>
      <p className={styles["laneTitle"]}>Connections and children, peak per tick</p>
      <Lane {...lane} heightPx={heightPx + (timeAxis ? TIME_AXIS_PX : 0)} y={linkAxis} timeAxis={timeAxis} paint={paintLinks} />
    </>
  );

  return (
    <div ref={host} className={styles["timeline"]}>
      <Legend model={overview} hasAnswers={hasAnswers} hasGc={hasGc} />
      {widthPx > 0 && <ChangeStrip changes={changes} view={view} leftPx={gutterPx} rightPx={RIGHT_PX} widthPx={widthPx} />}
      {/* An interactive picture: focusable, driven by keys, described in words below. */}
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
        onBlur={() => byKey && !pinned && setCursorUs(null)}
      >
        {widthPx > 0 && (
          <>
            {hasLanes && <DataLanes model={model} overview={overview} place={lane} phone={phone} />}
            {leadsByLinks && links(phone ? 150 : 190, false)}
            <p className={styles["laneTitle"]}>CPU usage, one bar per tick</p>
            <Lane {...lane} heightPx={leadsByLinks || hasLanes ? 80 : phone ? 130 : 170} y={cpuAxis} timeAxis={!hasAnswers && !hasGc && (!hasLinks || leadsByLinks)} paint={paintCpu} />
            {hasGc && (
              <div className={styles["gcRow"]}>
                <p className={styles["sideTitle"]} style={{ width: gutterPx }}>
                  GC
                </p>
                <Lane {...lane} heightPx={hasAnswers || (hasLinks && !leadsByLinks) ? 28 : 28 + TIME_AXIS_PX} y={null} timeAxis={!hasAnswers && (!hasLinks || leadsByLinks)} paint={paintGc} />
              </div>
            )}
            {hasLinks && !leadsByLinks && links(phone ? 90 : 110, !hasAnswers)}
            {hasAnswers && (
              <>
                <p className={styles["laneTitle"]}>{latencyTitle(overview.served)}, one dot per answer</p>
                <Lane {...lane} heightPx={(phone ? 200 : 250) + TIME_AXIS_PX} y={latencyAxis} timeAxis paint={paintAnswers} />
              </>
            )}
          </>
        )}
        <div ref={surface} className={styles["surface"]} data-mode={dragMode} style={{ left: gutterPx, right: RIGHT_PX }}>
          {selection !== null && selection.toUs > view.fromUs && selection.fromUs < view.toUs && (
            <span
              className={styles["selection"]}
              style={{ left: `${Math.max(0, left(selection.fromUs))}%`, right: `${Math.max(0, 100 - left(selection.toUs))}%` }}
            />
          )}
          {changes != null && <ChangeLines changes={changes} view={view} />}
          {marked !== null && <span className={styles["marked"]} style={{ left: `${Math.max(0, left(marked.fromUs))}%`, right: `${Math.max(0, 100 - left(marked.toUs))}%` }} />}
          {momentUs !== null && visible(momentUs) && <span className={styles["moment"]} data-line style={{ left: `${left(momentUs)}%` }} />}
          {cursorUs !== null && visible(cursorUs) && (
            <>
              <span className={styles["cursor"]} data-pinned={pinned} style={{ left: `${left(cursorUs)}%` }} />
              <div className={styles["tooltip"]} data-side={phone ? "below" : left(cursorUs) > 55 ? "left" : "right"} style={phone ? undefined : { left: `${left(cursorUs)}%` }}>
                <Readout model={model} us={cursorUs} />
              </div>
            </>
          )}
        </div>
      </div>
      {widthPx > 0 && (
        <div style={{ paddingLeft: gutterPx, paddingRight: RIGHT_PX }}>
          <Minimap model={overview} lead={leadsByLinks ? "connections" : overview.lanes.length > 0 ? "lanes" : "cpu"} extent={extent} view={view} onView={onView} widthPx={widthPx - gutterPx - RIGHT_PX} palette={palette} />
        </div>
      )}
      <p id={helpId} className="visually-hidden">
        Arrow keys move one tick, Shift and arrow keys pan, plus and minus zoom, Enter selects the tick, 0 shows all, Escape clears. A click pins a tick, a double-click goes back.
      </p>
      <p className="visually-hidden" aria-live="polite">
        {byKey && cursorUs !== null ? summarize(model, { fromUs: cursorUs - (cursorUs % model.cpu.stepUs), toUs: cursorUs - (cursorUs % model.cpu.stepUs) + model.cpu.stepUs }) : ""}
      </p>
    </div>
  );
}
