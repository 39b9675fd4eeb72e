import clsx from "clsx";
import { useCallback, useMemo, type ReactElement } from "react";

import type { TimeView } from "@/lib/timeView";

import { dashOf, drawDataLane, drawMarks } from "./dataLane";
import type { Frame } from "./draw";
import type { YAxis } from "./axes";
import { Lane } from "./Lane";
import { laneTop, laneValue } from "./lanes";
import type { DataLane, DataLine, TimelineModel } from "./model";
import type { Palette } from "./palette";
import styles from "./Timeline.module.css";

export interface DataLanesProps {
  model: TimelineModel;
  /** The whole recording, which determines the value ranges. */
  overview: TimelineModel;
  place: { readonly widthPx: number; readonly gutterPx: number; readonly view: TimeView; readonly palette: Palette };
  phone: boolean;
}

/** Lanes for memory, kernel, and pod start causes: event marks, then a lane for each kind of figure. */
export function DataLanes({ model, overview, place, phone }: DataLanesProps): ReactElement {
  const paint = useCallback((frame: Frame) => drawMarks(frame, model.marks, place.palette), [model, place.palette]);
  return (
    <>
      {overview.marks.length > 0 && (
        <div className={styles["gcRow"]}>
          <p className={styles["sideTitle"]} style={{ width: place.gutterPx }}>
            Events
          </p>
          <Lane {...place} heightPx={28} y={null} timeAxis={false} paint={paint} />
        </div>
      )}
      {overview.lanes.map((lane, index) => (
        <DataLaneView key={lane.id} lane={model.lanes.find((one) => one.id === lane.id) ?? lane} whole={lane} place={place} heightPx={index === 0 ? (phone ? 120 : 150) : phone ? 70 : 84} />
      ))}
    </>
  );
}

interface Key {
  line: DataLine;
  color: "hot" | "cool";
  name: string;
}

/** The entries of a line in the legend: two if only bars above a value are in the color of harm. */
function keysOf(lane: DataLane, line: DataLine): Key[] {
  const harmful: Key = { line, color: line.hot ? "hot" : "cool", name: line.name };
  if (!line.hot || line.hotAbove === 0) return [harmful];
  return [
    { line, color: "cool", name: line.name },
    { ...harmful, name: `over ${laneValue(line.hotAbove, lane.unit)}` },
  ];
}

interface DataLaneViewProps {
  lane: DataLane;
  whole: DataLane;
  place: DataLanesProps["place"];
  heightPx: number;
}

function DataLaneView({ lane, whole, place, heightPx }: DataLaneViewProps): ReactElement {
  const { palette } = place;
  // A mean over a longer time is lower than its peaks: the detail has peaks that the overview does not show.
  const top = useMemo(() => Math.max(laneTop(whole), laneTop(lane)), [whole, lane]);
  const axis = useMemo<YAxis>(
    () => ({ min: 0, max: top, log: false, splits: heightPx < 100 ? [0, top] : [0, top / 2, top], format: (value) => (value === 0 ? "0" : laneValue(value, lane.unit)) }),
    [top, heightPx, lane.unit],
  );
  const paint = useCallback((frame: Frame) => drawDataLane(frame, lane, top, palette), [lane, top, palette]);
  return (
    <>
      <p className={clsx(styles["laneTitle"], styles["withKeys"])}>
        {lane.title}
        {lane.lines.flatMap((line) => keysOf(lane, line)).map(({ line, color, name }) => (
          <span key={name}>
            <svg width="16" height="8" aria-hidden="true">
              {line.style === "line" ? (
                <line x1="0" x2="16" y1="4" y2="4" stroke={palette[color]} strokeWidth="2" strokeDasharray={dashOf(lane, line).join(" ")} />
              ) : (
                <rect x="1" y={line.style === "area" ? 1 : 0} width={line.style === "area" ? 14 : 6} height="8" fill={palette[color]} opacity={line.style === "area" ? 0.4 : 0.9} />
              )}
            </svg>
            {name}
          </span>
        ))}
      </p>
      <Lane {...place} heightPx={heightPx} y={axis} timeAxis={false} paint={paint} />
    </>
  );
}

