import { keepPreviousData, useQuery, type QueryKey } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState, type Dispatch, type ReactElement, type SetStateAction } from "react";

import { explain } from "@/api/problem";
import { linesInView, type ChartChange } from "@/charts/changes/changes";
import { tablesOf } from "@/charts/timeline/csv";
import { summarize } from "@/charts/timeline/summary";
import { TickTable } from "@/charts/timeline/TickTable";
import { Timeline } from "@/charts/timeline/Timeline";
import type { TimelineModel } from "@/charts/timeline/model";
import type { DragMode } from "@/charts/timeline/usePointer";
import { plainKey } from "@/lib/keys";
import { duration, US_PER_S } from "@/lib/time";
import { around, clampView, covers, detailTile, span, zoomAround, type TimeView } from "@/lib/timeView";
import { useRested, WORDS_MS } from "@/lib/useRested";
import { Button } from "@/ui/Button";
import { ErrorState, Skeleton } from "@/ui/states";
import { CompareButton } from "@/widgets/CompareButton";
import { ExportMenu } from "@/widgets/export/ExportMenu";

import { TimelineControls } from "./TimelineControls";
import styles from "./TimelineView.module.css";
import type { PictureState } from "./usePicture";

export interface TimelineQuery {
  queryKey: QueryKey;
  queryFn: () => Promise<TimelineModel>;
}

export interface TimelineViewProps {
  /** The whole window. */
  extent: TimeView;
  /** The initial view. */
  first: TimeView;
  /** The marked time, and the view that its button opens. */
  moment: Moment | null;
  /** Loads a part of the window. */
  load: (part: TimeView) => TimelineQuery;
  picture: PictureState;
  /** The main lane. */
  lead?: "cpu" | "connections";
  onPicture: Dispatch<SetStateAction<PictureState>>;
  /** Returns to the previous view; false: there is none. */
  goBack: () => boolean;
  /** The resource whose window can be compared; null if none. */
  resourceId: number | null;
  /** Changes in and shortly before the window, sorted by time. null: loading failed; undefined: not loaded yet. */
  changes: readonly ChartChange[] | null | undefined;
  /** Name of the timeline, used for exports. */
  name: string;
}

export interface Moment {
  readonly name: string;
  readonly us: number;
  readonly view: TimeView;
}

/** In shorter views, a 10 ms tick is wide enough to see, and the tile is short enough for the server to return 10 ms ticks. */
const FINE_SPAN_US = 2 * US_PER_S;

export function TimelineView({ extent, first, moment, load, picture, onPicture, goBack, lead = "cpu", resourceId, changes, name }: TimelineViewProps): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const [dragMode, setDragMode] = useState<DragMode>("zoom");
  const view = useMemo(() => clampView(picture.view ?? first, extent), [picture.view, first, extent]);

  const base = useQuery({ ...load(extent), placeholderData: keepPreviousData });
  const overview = base.data;
  const wantsDetail =
    overview !== undefined && (overview.answers.truncated > 0 || overview.cpu.stepUs > 100_000 || span(view) <= FINE_SPAN_US) && span(view) < span(extent);
  const tile = useMemo(() => detailTile(view, extent), [view, extent]);
  const detail = useQuery({ ...load(tile), enabled: wantsDetail, placeholderData: keepPreviousData });
  const model = useMemo(() => {
    if (overview === undefined || !wantsDetail || detail.data === undefined || !covers(detail.data.extent, view)) return overview;
    // In a view this long, 10 ms ticks are not visible.
    return detail.data.coarse !== null && span(view) > FINE_SPAN_US ? { ...detail.data, cpu: detail.data.coarse, coarse: null } : detail.data;
  }, [overview, wantsDetail, detail.data, view]);

  const setView = useCallback((next: TimeView) => onPicture((before) => ({ ...before, view: next })), [onPicture]);
  const setSelection = useCallback((next: TimeView | null) => onPicture((before) => ({ ...before, selection: next })), [onPicture]);

  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const key = plainKey(event);
      if (key === "z" && moment !== null) setView(moment.view);
      if (key === "s") setDragMode((mode) => (mode === "zoom" ? "select" : "zoom"));
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [setView, moment]);

  // The text may lag behind a moving pointer; the chart may not.
  const restingView = useRested(view, WORDS_MS);
  const words = useMemo(() => (model === undefined ? "" : summarize(model, restingView)), [model, restingView]);

  if (model === undefined || overview === undefined) {
    if (base.isError) return <ErrorState {...explain(base.error)} onRetry={() => void base.refetch()} />;
    return (
      <div className={styles["loading"]}>
        <Skeleton lines={4} height={90} label="Loading timeline" />
      </div>
    );
  }

  const { selection } = picture;
  return (
    <div className={styles["view"]}>
      <TimelineControls
        text={`${duration(span(view))} of ${duration(span(extent))}, ticks of ${duration(model.cpu.stepUs)}`}
        busy={detail.isFetching}
        dragMode={dragMode}
        onDragMode={setDragMode}
        jump={moment === null ? null : { name: moment.name, go: () => setView(moment.view) }}
        onAll={() => setView(extent)}
        onZoom={(factor) => setView(zoomAround(view, factor, view.fromUs + span(view) / 2, extent))}
      >
        {resourceId !== null && <CompareButton resourceId={resourceId} view={selection ?? view} hasKey />}
        <ExportMenu name={name} view={view} tables={tablesOf(model, overview, view)} notes={linesInView(changes ?? [], view)} picture={() => host.current?.querySelector('[role="application"]') ?? null} />
      </TimelineControls>
      <div ref={host}>
        <Timeline
          model={model}
          overview={overview}
          extent={extent}
          view={view}
          onView={setView}
          selection={selection}
          onSelection={setSelection}
          dragMode={dragMode}
          onBack={() => goBack() || setView(extent)}
          momentUs={moment?.us ?? null}
          lead={lead}
          changes={changes}
        />
      </div>
      <div className={styles["below"]}>
        {selection === null ? (
          <p>{words}</p>
        ) : (
          <p>
            <strong>Selected {duration(span(selection))}.</strong> {summarize(model, selection)}{" "}
            <Button kind="quiet" onClick={() => setView(around(selection.fromUs + span(selection) / 2, span(selection) * 1.2, extent))}>
              Zoom to selection
            </Button>
            <Button kind="quiet" onClick={() => setSelection(null)}>
              Clear
            </Button>
          </p>
        )}
        {overview.notes.map((note) => (
          <p key={note} className={styles["note"]}>
            {note}
          </p>
        ))}
        {model.answers.truncated > 0 && (
          <p className={styles["note"]}>{model.answers.truncated.toLocaleString("en-US")} answers are not drawn at this zoom. Zoom in to see all of them.</p>
        )}
        <TickTable model={model} view={restingView} />
      </div>
    </div>
  );
}
