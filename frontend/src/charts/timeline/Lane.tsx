import { memo, useEffect, useEffectEvent, useRef, type ReactElement } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import type { TimeView } from "@/lib/timeView";
import { tickLabel, tickPositions, tickStep } from "@/lib/timeTicks";

import type { Frame } from "./draw";
import type { Palette } from "./palette";

export interface YAxis {
  readonly min: number;
  readonly max: number;
  readonly log: boolean;
  readonly splits: readonly number[];
  readonly format: (value: number) => string;
}

export interface LaneProps {
  widthPx: number;
  heightPx: number;
  /** Width of the value axis, the same in all lanes so that they line up. */
  gutterPx: number;
  view: TimeView;
  y: YAxis | null;
  timeAxis: boolean;
  palette: Palette;
  paint: (frame: Frame) => void;
}

export const TIME_AXIS_PX = 26;
export const RIGHT_PX = 8;
const LABEL_PX = 96;
// uPlot's types declare the number as an ambient constant, which a bundler cannot read.
const LOGARITHMIC: Record<string, unknown> = { distr: 3 };

/** One uPlot instance that owns scales, axes and the canvas; what is in it is painted by `paint`. */
export const Lane = memo(function Lane({ widthPx, heightPx, gutterPx, view, y, timeAxis, palette, paint }: LaneProps): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);

  const onDraw = useEffectEvent((u: uPlot) => {
    const { left, top, width, height } = u.bbox;
    paint({ ctx: u.ctx, left, top, width, height, view, dpr: uPlot.pxRatio });
  });
  const yRange = useEffectEvent((): [number, number] => (y === null ? [0, 1] : [y.min, y.max]));
  const ySplits = useEffectEvent((): number[] => (y === null ? [] : [...y.splits]));
  const yLabel = useEffectEvent((value: number): string => y?.format(value) ?? "");
  const size = useEffectEvent(() => ({ width: widthPx, height: heightPx }));
  const initialView = useEffectEvent(() => view);
  const log = y?.log ?? false;
  const hasY = y !== null;

  // One instance for as long as what it looks like stays the same.
  useEffect(() => {
    if (host.current === null) return undefined;
    const stepOf = (u: uPlot, min: number, max: number): number => tickStep(max - min, u.bbox.width / uPlot.pxRatio / LABEL_PX);
    const axisFont = `11.5px "Inter Variable", system-ui, sans-serif`;
    const first = initialView();
    const u = new uPlot(
      {
        ...size(),
        legend: { show: false },
        cursor: { show: false },
        padding: [hasY ? 10 : 0, RIGHT_PX, hasY && !timeAxis ? 8 : 0, 0],
        scales: {
          x: { time: false, auto: false },
          y: { auto: false, range: () => yRange(), ...(log ? LOGARITHMIC : {}) },
        },
        series: [{}, { paths: () => null, points: { show: false } }],
        axes: [
          {
            size: timeAxis ? TIME_AXIS_PX : 0,
            font: axisFont,
            stroke: palette.dim,
            grid: { stroke: palette.line, width: 1 },
            ticks: { show: timeAxis, stroke: palette.line, width: 1, size: 5 },
            splits: (self, _axis, min, max) => tickPositions({ fromUs: min, toUs: max }, stepOf(self, min, max)),
            values: (self, splits) => {
              const { min, max } = self.scales["x"] ?? {};
              if (!timeAxis || min == null || max == null) return splits.map(() => "");
              const step = stepOf(self, min, max);
              // A label that would be cut off at the right edge is left out.
              const lastUs = max - ((max - min) * LABEL_PX * 0.3) / (self.bbox.width / uPlot.pxRatio);
              return splits.map((us) => (us > lastUs ? "" : tickLabel(us, step)));
            },
          },
          {
            size: gutterPx,
            font: axisFont,
            stroke: palette.dim,
            grid: { show: hasY, stroke: palette.line, width: 1 },
            ticks: { show: false },
            gap: 8,
            splits: () => ySplits(),
            // uPlot leaves out labels of a log axis that would stand too close: they arrive as null.
            values: (_self, splits: (number | null)[]) => splits.map((value) => (value === null ? "" : yLabel(value))),
          },
        ],
        hooks: { draw: [(self) => onDraw(self)] },
      },
      [[first.fromUs, first.toUs], [null, null]],
      host.current,
    );
    u.setScale("x", { min: first.fromUs, max: first.toUs });
    plot.current = u;
    return () => {
      u.destroy();
      plot.current = null;
    };
  }, [palette, gutterPx, timeAxis, log, hasY]);

  useEffect(() => {
    plot.current?.setSize({ width: widthPx, height: heightPx });
  }, [widthPx, heightPx]);

  useEffect(() => {
    plot.current?.setScale("x", { min: view.fromUs, max: view.toUs });
  }, [view]);

  useEffect(() => {
    if (y !== null) plot.current?.setScale("y", { min: y.min, max: y.max });
    plot.current?.redraw(false, true);
  }, [paint, y]);

  return <div ref={host} aria-hidden="true" style={{ height: heightPx }} />;
});
