import { useCallback, useMemo, type ReactElement } from "react";

import { gaps } from "@/charts/timeline/bars";
import { drawCpuLane } from "@/charts/timeline/cpuLane";
import type { Frame } from "@/charts/timeline/draw";
import { drawGcLane } from "@/charts/timeline/gcLane";
import { TIME_AXIS_PX, type YAxis } from "@/charts/timeline/axes";
import { Lane, type LaneProps } from "@/charts/timeline/Lane";
import type { TimelineModel } from "@/charts/timeline/model";

import styles from "./Compare.module.css";
import { drawSlowestLane } from "./slowestLane";

export interface RunLanesProps {
  model: TimelineModel;
  lane: Pick<LaneProps, "widthPx" | "gutterPx" | "view" | "palette">;
  /** CPUs at the top of the CPU lane. */
  top: number;
  cpuAxis: YAxis;
  /** null: no known latency. */
  latency: { readonly axis: YAxis; readonly lowLog: number; readonly highLog: number } | null;
  hasGc: boolean;
  /** Whether the last lane has the time axis. */
  timeAxis: boolean;
}

/** CPU, GC, and slowest answers of one run. */
export function RunLanes({ model, lane, top, cpuAxis, latency, hasGc, timeAxis }: RunLanesProps): ReactElement {
  const { palette } = lane;
  const missing = useMemo(() => gaps(model), [model]);
  const paintCpu = useCallback((frame: Frame) => drawCpuLane(frame, { model, top, gaps: missing }, palette), [model, top, missing, palette]);
  const paintGc = useCallback((frame: Frame) => drawGcLane(frame, model, palette), [model, palette]);
  const paintSlowest = useCallback(
    (frame: Frame) => latency !== null && drawSlowestLane(frame, { model, lowLog: latency.lowLog, highLog: latency.highLog }, palette),
    [model, latency, palette],
  );
  const below = latency === null;
  return (
    <>
      <Lane {...lane} heightPx={96 + (timeAxis && below && !hasGc ? TIME_AXIS_PX : 0)} y={cpuAxis} timeAxis={timeAxis && below && !hasGc} paint={paintCpu} />
      {hasGc && (
        <div className={styles["gcRow"]}>
          <span className={styles["side"]} style={{ width: lane.gutterPx }}>
            GC
          </span>
          <Lane {...lane} heightPx={24 + (timeAxis && below ? TIME_AXIS_PX : 0)} y={null} timeAxis={timeAxis && below} paint={paintGc} />
        </div>
      )}
      {latency !== null && <Lane {...lane} heightPx={92 + (timeAxis ? TIME_AXIS_PX : 0)} y={latency.axis} timeAxis={timeAxis} paint={paintSlowest} />}
    </>
  );
}
