import type { ReactElement } from "react";

import { measure, significant } from "@/lib/format";
import { clock } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";

import styles from "./BeforeAfter.module.css";
import { predictionOf, type BlockLane, type Point } from "./blocks";

export const LANE_PX = 138;
const TITLE_PX = 30;
const THIN_PX = 6;

export interface BlockLaneViewProps {
  lane: BlockLane;
  x: (us: number) => number;
  /** Top of the lane and the edges of its plot area. */
  y: number;
  left: number;
  right: number;
  extent: TimeView;
  appliedUs: number;
}

/** One figure for every block, with the means before and after and the predicted mean. */
export function BlockLaneView({ lane, x, y, left, right, extent, appliedUs }: BlockLaneViewProps): ReactElement {
  const bottom = y + LANE_PX - 10;
  const at = (value: number): number => bottom - (Math.min(value, lane.top) / lane.top) * (bottom - y - TITLE_PX);
  const predicted = predictionOf(lane.measure);
  const bandPx = predicted === null ? 0 : at(predicted.low) - at(predicted.high);
  // A range too narrow to draw becomes a line at the expected value, not a band that includes other values.
  const isLine = bandPx < THIN_PX;
  const { before, after } = lane.measure;
  // A long unit goes into the title.
  const long = lane.unit === "ms/min";
  const format = (value: number): string => (long ? significant(value) : measure(value, lane.unit));
  return (
    <g>
      <text className={styles["laneTitle"]} x={0} y={y + 14}>
        {long ? `${lane.title}, ms/min` : lane.title}
      </text>
      {[0, lane.top / 2, lane.top].map((value) => (
        <g key={value}>
          <line className={styles["grid"]} x1={left} x2={right} y1={at(value)} y2={at(value)} />
          <text className={styles["tick"]} x={left - 8} y={at(value) + 4} textAnchor="end">
            {format(value)}
          </text>
        </g>
      ))}
      {predicted !== null && (
        <g data-part="prediction">
          {!isLine && <rect className={styles["band"]} x={x(appliedUs)} width={Math.max(0, x(extent.toUs) - x(appliedUs))} y={at(predicted.low) - bandPx} height={bandPx} />}
          <line className={styles[isLine ? "exact" : "expected"]} x1={x(appliedUs)} x2={x(extent.toUs)} y1={at(predicted.expected)} y2={at(predicted.expected)} />
        </g>
      )}
      {before !== null && <Mean value={format(before)} x1={left} x2={x(appliedUs)} y={at(before)} />}
      {after !== null && <Mean value={format(after)} x1={x(appliedUs)} x2={right} y={at(after)} />}
      {[...lane.before, ...lane.after].map((point) => (
        <Mark key={point.us} point={point} cx={x(point.us)} cy={at(point.value)} text={`${clock(point.us)}: ${measure(point.value, lane.unit)}`} />
      ))}
    </g>
  );
}

/** A diamond if the figure is above 0, otherwise a dot. */
function Mark({ point, cx, cy, text }: { point: Point; cx: number; cy: number; text: string }): ReactElement {
  return point.value > 0 ? (
    <path className={styles["hurt"]} d={`M${cx} ${cy - 4}l4 4-4 4-4-4z`}>
      <title>{text}</title>
    </path>
  ) : (
    <circle className={styles["calm"]} cx={cx} cy={cy} r={2.6}>
      <title>{text}</title>
    </circle>
  );
}

function Mean({ value, x1, x2, y }: { value: string; x1: number; x2: number; y: number }): ReactElement {
  return (
    <g>
      <line className={styles["meanLine"]} x1={x1} x2={x2} y1={y} y2={y} />
      <text className={styles["meanText"]} x={x2 - 6} y={y - 6} textAnchor="end">
        mean {value}
      </text>
    </g>
  );
}
