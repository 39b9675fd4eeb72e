import { useRef, type ReactElement } from "react";

import type { ShownVerification } from "@/api/incidents";
import { useWidth } from "@/charts/useWidth";
import { measure, measureRange } from "@/lib/format";
import { clock, parseUs } from "@/lib/time";
import { tickLabel, tickPositions, tickStep } from "@/lib/timeTicks";
import { span } from "@/lib/timeView";

import { ExportMenu } from "@/widgets/export/ExportMenu";

import styles from "./BeforeAfter.module.css";
import { BlockLaneView, LANE_PX } from "./BlockLaneView";
import { blockExtent, blockLanes, blockTable, predictionOf, type BlockLane } from "./blocks";

const AXIS_PX = 24;
const TOP_PX = 20;

/** Before, after, and the prediction in one chart: each block a mark, the change a line. */
export function BeforeAfter({ verification }: { verification: ShownVerification }): ReactElement | null {
  const lanes = blockLanes(verification);
  // The first blocks arrive some time after the change: the element whose width is measured exists only from then on.
  return lanes.length === 0 ? null : <Picture verification={verification} lanes={lanes} />;
}

function Picture({ verification, lanes }: { verification: ShownVerification; lanes: readonly BlockLane[] }): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(host);
  const phone = widthPx < 640;
  const left = phone ? 52 : 66;
  const right = 10;
  const extent = blockExtent(verification);
  const x = (us: number): number => left + ((us - extent.fromUs) / span(extent)) * (widthPx - left - right);
  const appliedUs = parseUs(verification.applied_at);
  const heightPx = TOP_PX + lanes.length * LANE_PX + AXIS_PX;
  const step = tickStep(span(extent), (widthPx - left) / 92);
  const words = lanes.map((lane) => {
    const predicted = predictionOf(lane.measure);
    const told = lane.measure;
    return `${lane.title}: before ${measure(told.before, lane.unit)}, after ${measure(told.after, lane.unit)}${
      predicted === null ? "" : `, predicted ${measureRange(predicted.low, predicted.high, lane.unit)}`
    }`;
  });

  return (
    <div ref={host} className={styles["picture"]} style={{ minHeight: heightPx }}>
      <div className={styles["export"]}>
        <ExportMenu kind="quiet" aria-label="Export before and after" name={`Before and after: ${verification.fix_title}`} view={extent} tables={[blockTable(lanes)]} picture={() => host.current} />
      </div>
      <ul className={styles["legend"]} aria-label="Legend">
        <li>
          <svg className={styles["key"]} viewBox="0 0 18 10" aria-hidden="true">
            <path className={styles["hurt"]} d="M9 1l4 4-4 4-4-4z" />
          </svg>
          block above 0
        </li>
        <li>
          <svg className={styles["key"]} viewBox="0 0 18 10" aria-hidden="true">
            <circle className={styles["calm"]} cx={9} cy={5} r={2.6} />
          </svg>
          block at 0
        </li>
        <li>
          <svg className={styles["key"]} viewBox="0 0 18 10" aria-hidden="true">
            <line className={styles["meanLine"]} x1={1} x2={17} y1={5} y2={5} />
          </svg>
          mean
        </li>
        <li>
          <svg className={styles["key"]} viewBox="0 0 18 10" aria-hidden="true">
            <rect className={styles["band"]} x={1} y={0.5} width={16} height={9} />
          </svg>
          predicted mean, 90 % interval
        </li>
      </ul>
      {widthPx > 0 && (
        <svg width={widthPx} height={heightPx} role="img" aria-label={`Before and after the change at ${clock(appliedUs)}. ${words.join(". ")}.`}>
          {tickPositions(extent, step)
            .filter((us) => x(us) < widthPx - 30)
            .map((us) => (
              <g key={us}>
                <line className={styles["grid"]} x1={x(us)} x2={x(us)} y1={TOP_PX} y2={heightPx - AXIS_PX} />
                <text className={styles["tick"]} x={x(us)} y={heightPx - 7} textAnchor="middle">
                  {tickLabel(us, step)}
                </text>
              </g>
            ))}
          {lanes.map((lane, index) => (
            <BlockLaneView key={lane.metric} lane={lane} x={x} y={TOP_PX + index * LANE_PX} left={left} right={widthPx - right} extent={extent} appliedUs={appliedUs} />
          ))}
          <line className={styles["applied"]} x1={x(appliedUs)} x2={x(appliedUs)} y1={14} y2={heightPx - AXIS_PX} />
          <text className={styles["side"]} x={x(appliedUs) - 8} y={12} textAnchor="end">
            before
          </text>
          <text className={styles["side"]} x={x(appliedUs) + 8} y={12}>
            after{phone ? "" : `, applied ${clock(appliedUs)}`}
          </text>
        </svg>
      )}
    </div>
  );
}
