import { useEffect, useEffectEvent, useRef, type ReactElement } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import type { ReportChartData } from "@/api/analyses";
import { usePalette, type Palette } from "@/charts/timeline/palette";
import { useWidth } from "@/charts/useWidth";
import type { CsvTable } from "@/lib/csv";
import { toRfc3339 } from "@/lib/time";
import { tickLabel, tickPositions, tickStep } from "@/lib/timeTicks";

import { FigureExport } from "@/widgets/export/ExportMenu";

import styles from "./Evidence.module.css";
import { positionText, valueText } from "./reportText";

const HEIGHT_PX = 200;
const GUTTER_PX = 66;
const FONT = `11px "Inter Variable", sans-serif`;
const DASHES: readonly (number[] | undefined)[] = [undefined, [6, 3], [2, 3], [8, 3, 2, 3], [1, 4]];

/** One chart of a report. Lines differ by color and dashes; the legend above shows the values under the pointer. */
export function ReportChart({ chart }: { chart: ReportChartData }): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const readout = useRef<HTMLParagraphElement>(null);
  const plot = useRef<uPlot>(null);
  const widthPx = useWidth(host);
  const palette = usePalette();
  const ready = widthPx > 0;

  const width = useEffectEvent(() => widthPx);
  const say = useEffectEvent((index: number | null) => {
    if (readout.current === null) return;
    readout.current.textContent = index === null ? "" : sentenceAt(chart, index);
  });

  useEffect(() => {
    if (host.current === null || !ready) return undefined;
    const u = new uPlot(optionsOf(chart, palette, width(), say), dataOf(chart), host.current);
    plot.current = u;
    return () => {
      u.destroy();
      plot.current = null;
    };
  }, [chart, palette, ready]);

  useEffect(() => {
    if (widthPx > 0) plot.current?.setSize({ width: widthPx, height: HEIGHT_PX });
  }, [widthPx]);

  return (
    <figure className={styles["chart"]} aria-label={`${chart.title}. ${described(chart)}`}>
      <figcaption>
        <h3>{chart.title}</h3>
        <ul className={styles["legend"]}>
          {chart.lines.map((line, index) => (
            <li key={line.name}>
              <svg width="22" height="8" aria-hidden="true">
                {line.style === "points" ? (
                  <circle cx="11" cy="4" r="3" fill={colorOf(index, palette)} />
                ) : (
                  <line x1="0" x2="22" y1="4" y2="4" stroke={colorOf(index, palette)} strokeWidth="2" strokeDasharray={DASHES[index % DASHES.length]?.join(" ")} />
                )}
              </svg>
              {line.name}
            </li>
          ))}
          {chart.limits.map((limit) => (
            <li key={limit.name}>
              <svg width="22" height="8" aria-hidden="true">
                <line x1="0" x2="22" y1="4" y2="4" stroke={palette.limit} strokeWidth="2" strokeDasharray="4 3" />
              </svg>
              {limit.name}: {valueText(limit.value, chart.unit)}
            </li>
          ))}
        </ul>
        <FigureExport name={chart.title} view={null} table={tableOf(chart)} />
      </figcaption>
      <div ref={host} className={styles["plot"]} style={{ height: HEIGHT_PX }} aria-hidden="true" />
      <p ref={readout} className={styles["readout"]} aria-hidden="true" />
    </figure>
  );
}

function tableOf(chart: ReportChartData): CsvTable {
  const timed = chart.x_unit === "time";
  return {
    name: chart.title,
    columns: [timed ? "Time (UTC)" : `Position (${chart.x_unit})`, ...chart.lines.map(({ name }) => (chart.unit === "1" ? name : `${name} (${chart.unit})`))],
    rows: () => chart.x.map((x, at) => [timed ? toRfc3339(x) : chart.x_unit === "clock" ? positionText(x, "clock", 3) : x, ...chart.lines.map(({ values }) => values[at] ?? null)]),
  };
}

function colorOf(index: number, palette: Palette): string {
  return [palette.cool, palette.hot, palette.gc, palette.ink, palette.dim][index % 5] ?? palette.cool;
}

function dataOf(chart: ReportChartData): uPlot.AlignedData {
  return [chart.x, ...chart.lines.map((line) => line.values)] as uPlot.AlignedData;
}

function highest(chart: ReportChartData): number {
  let most = 0;
  for (const line of chart.lines) for (const value of line.values) most = Math.max(most, value ?? 0);
  // A limit far above everything would flatten the data.
  for (const limit of chart.limits) if (limit.value <= most * 4 || most === 0) most = Math.max(most, limit.value);
  return most;
}

function optionsOf(chart: ReportChartData, palette: Palette, width: number, say: (index: number | null) => void): uPlot.Options {
  const most = highest(chart);
  const timed = chart.x_unit === "time" || chart.x_unit === "clock";
  const first = chart.x[0] ?? 0;
  const last = chart.x.at(-1) ?? 1;
  const span = last > first ? [first, last] : [first - 1, first + 1];
  const step = tickStep((span[1] ?? 1) - (span[0] ?? 0), (width - GUTTER_PX) / 90);
  const text = { stroke: palette.dim, font: FONT } as const;
  return {
    width,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    padding: [8, 36, 0, 0],
    scales: { x: { time: false, range: () => [span[0] ?? 0, span[1] ?? 1] }, y: { range: () => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      {
        ...text,
        size: 26,
        grid: { stroke: palette.line, width: 1 },
        ticks: { stroke: palette.line, size: 4 },
        ...(timed
          ? {
              splits: (_u: uPlot, _axis: number, from: number, to: number) => tickPositions({ fromUs: from, toUs: to }, step),
              values: (_u: uPlot, at: number[]) => at.map((us) => (chart.x_unit === "time" ? tickLabel(us, step) : positionText(us, "clock", step < 1e6 ? 1 : 0))),
            }
          : { space: 70, values: (_u: uPlot, at: number[]) => at.map((x) => positionText(x, chart.x_unit)) }),
      },
      { ...text, size: GUTTER_PX, gap: 6, grid: { stroke: palette.line, width: 1 }, ticks: { show: false }, space: 34, values: (_u, at) => at.map((y) => valueText(y, chart.unit)) },
    ],
    series: [
      {},
      ...chart.lines.map((line, index): uPlot.Series => {
        const stroke = colorOf(index, palette);
        const few = line.values.length < 60;
        if (line.style === "points") return { stroke, paths: () => null, points: { show: true, size: 4, fill: stroke } };
        const dash = DASHES[index % DASHES.length];
        const paths = line.style === "step" ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
        return {
          stroke,
          width: 1.5,
          spanGaps: chart.x_unit === "queries/s",
          points: { show: few, size: 5, fill: stroke },
          ...(dash === undefined ? {} : { dash }),
          ...(paths === undefined ? {} : { paths }),
        };
      }),
    ],
    hooks: {
      setCursor: [(self) => say(self.cursor.idx ?? null)],
      draw: [(self) => drawLimits(self, chart, palette, most)],
    },
  };
}

function drawLimits(u: uPlot, chart: ReportChartData, palette: Palette, most: number): void {
  for (const limit of chart.limits) {
    if (limit.value > most * 1.1) continue;
    const y = Math.round(u.valToPos(limit.value, "y", true));
    u.ctx.save();
    u.ctx.strokeStyle = palette.limit;
    u.ctx.lineWidth = 1.5 * devicePixelRatio;
    u.ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    u.ctx.beginPath();
    u.ctx.moveTo(u.bbox.left, y);
    u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
    u.ctx.stroke();
    u.ctx.restore();
  }
}

function sentenceAt(chart: ReportChartData, index: number): string {
  const x = chart.x[index];
  if (x === undefined) return "";
  const values = chart.lines.filter((line) => line.values[index] != null).map((line) => `${line.name} ${valueText(line.values[index], chart.unit)}`);
  return `${positionText(x, chart.x_unit)}: ${values.join(", ") || "no data"}`;
}

/** The chart in words. */
function described(chart: ReportChartData): string {
  return chart.lines
    .map((line) => {
      const known = line.values.filter((value): value is number => value !== null);
      if (known.length === 0) return `${line.name}: no data`;
      const most = known.reduce((a, b) => Math.max(a, b));
      const least = known.reduce((a, b) => Math.min(a, b));
      return `${line.name}: ${valueText(least, chart.unit)} to ${valueText(most, chart.unit)}`;
    })
    .join("; ");
}
