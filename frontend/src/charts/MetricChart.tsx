import { useEffect, useEffectEvent, useRef, type ReactElement, type ReactNode } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { ChangeLines } from "@/charts/changes/ChangeLines";
import type { ChartChange } from "@/charts/changes/changes";
import { usePalette } from "@/charts/timeline/palette";
import { useWidth } from "@/charts/useWidth";
import { inUnit } from "@/lib/format";
import { bothZones, clock } from "@/lib/time";
import { tickLabel, tickPositions, tickStep } from "@/lib/timeTicks";
import type { TimeView } from "@/lib/timeView";

import styles from "./MetricChart.module.css";

export interface MetricChartProps {
  title: string;
  /** A unit of `inUnit`: us, bytes, 1. */
  unit: string;
  meaning: string;
  tUs: readonly number[];
  /** Names of the lines: lowest, mean, highest for a gauge; median, p99, highest for a distribution. */
  names: readonly [string, string, string];
  /** Null, like `high`: there is only one line. */
  low: readonly (number | null)[] | null;
  middle: readonly (number | null)[];
  high: readonly (number | null)[] | null;
  window: TimeView;
  /** Drawn as lines; a strip labels them. */
  changes: readonly ChartChange[];
  /** A button next to the title. */
  action?: ReactNode;
}

const HEIGHT_PX = 120;
const GUTTER_PX = 62;
const RIGHT_PX = 8;
/** Width of a digit of the axis. */
const LETTER_PX = 6.5;
/** Charts of one page share a cursor. */
const SYNC = "metrics";

/** One metric over time: a band from lowest to highest and a line for the middle; a missing point is a gap. */
export function MetricChart(props: MetricChartProps): ReactElement {
  const { title, unit, meaning, tUs, names, low, middle, high, window, changes, action } = props;
  const host = useRef<HTMLDivElement>(null);
  const readout = useRef<HTMLParagraphElement>(null);
  const plot = useRef<uPlot>(null);
  const widthPx = useWidth(host);
  const palette = usePalette();

  const width = useEffectEvent(() => widthPx);
  const data = useEffectEvent((): uPlot.AlignedData => [[...tUs], [...(high ?? middle)], [...middle], [...(low ?? middle)]]);
  const range = useEffectEvent((): [number, number] => [window.fromUs, window.toUs]);
  const say = useEffectEvent((index: number | null) => {
    if (readout.current === null) return;
    const last = index ?? lastKnown(middle);
    const at = tUs[last];
    const when = (us: number): string => (index === null ? "latest: " : `${clock(us)}: `);
    readout.current.textContent =
      at === undefined
        ? "no data"
        : low === null || high === null
          ? `${when(at)}${names[1]} ${inUnit(middle[last], unit)}`
          : `${when(at)}${names[1]} ${inUnit(middle[last], unit)}, ${names[0]} ${inUnit(low[last], unit)}, ${names[2]} ${inUnit(high[last], unit)}`;
    readout.current.title = at === undefined ? "" : bothZones(at, 1);
  });

  const ready = widthPx > 0;
  useEffect(() => {
    if (host.current === null || !ready) return undefined;
    const step = (min: number, max: number): number => tickStep(max - min, (width() - GUTTER_PX) / 90);
    const u = new uPlot(
      {
        width: width(),
        height: HEIGHT_PX,
        legend: { show: false },
        cursor: { sync: { key: SYNC }, y: false, points: { show: false }, drag: { x: false, y: false } },
        padding: [6, RIGHT_PX, 0, 0],
        scales: { x: { time: false, range: () => range() }, y: { range: (_u, min, max) => [min < 0 ? min * 1.1 : 0, max > 0 ? max * 1.1 : min < 0 ? 0 : 1] } },
        axes: [
          {
            size: 24,
            stroke: palette.dim,
            font: `11px "Inter Variable", sans-serif`,
            grid: { stroke: palette.line, width: 1 },
            ticks: { stroke: palette.line, size: 4 },
            splits: (_u, _axis, min, max) => tickPositions({ fromUs: min, toUs: max }, step(min, max)),
            values: (u, splits) => splits.map((us) => labelThatFits(u, us, step(u.scales["x"]?.min ?? 0, u.scales["x"]?.max ?? 1))),
          },
          {
            size: GUTTER_PX,
            gap: 6,
            stroke: palette.dim,
            font: `11px "Inter Variable", sans-serif`,
            grid: { stroke: palette.line, width: 1 },
            ticks: { show: false },
            space: 34,
            values: (_u, splits) => splits.map((value) => inUnit(value, unit)),
          },
        ],
        series: [
          {},
          { stroke: palette.cool, width: 0.5, alpha: 0.5, points: { show: false } },
          { stroke: palette.cool, width: 1.5, points: { show: false } },
          { stroke: palette.cool, width: 0.5, alpha: 0.5, points: { show: false } },
        ],
        bands: [{ series: [1, 3], fill: palette.cool.replace("rgb(", "rgba(").replace(")", ", 0.18)") }],
        hooks: { setCursor: [(self) => say(self.cursor.idx ?? null)] },
      },
      data(),
      host.current,
    );
    plot.current = u;
    return () => {
      u.destroy();
      plot.current = null;
    };
  }, [palette, unit, ready]);

  useEffect(() => {
    if (widthPx > 0) plot.current?.setSize({ width: widthPx, height: HEIGHT_PX });
  }, [widthPx]);

  useEffect(() => {
    plot.current?.setData(data());
    say(null);
  }, [tUs, low, middle, high, window]);

  return (
    <figure className={styles["figure"]}>
      <figcaption>
        <h3 title={meaning}>{title}</h3>
        <p ref={readout} className={styles["readout"]} />
        {action}
      </figcaption>
      <div ref={host} className={styles["plot"]} style={{ height: HEIGHT_PX }} aria-hidden="true">
        <div className={styles["over"]} style={{ left: GUTTER_PX, right: RIGHT_PX }}>
          <ChangeLines changes={changes} view={window} />
        </div>
      </div>
    </figure>
  );
}

/** A label is centered on its position: at the right edge it would be cut off. */
function labelThatFits(u: uPlot, us: number, stepUs: number): string {
  const label = tickLabel(us, stepUs);
  const right = u.valToPos(us, "x") + GUTTER_PX + (label.length * LETTER_PX) / 2;
  return right > u.width ? "" : label;
}

function lastKnown(values: readonly (number | null)[]): number {
  return values.findLastIndex((value) => value !== null);
}
