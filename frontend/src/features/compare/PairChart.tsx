import { useRef, type ReactElement } from "react";

import { useWidth } from "@/charts/useWidth";
import { inUnit } from "@/lib/format";
import { tickStep } from "@/lib/timeTicks";

import { FigureExport } from "@/widgets/export/ExportMenu";

import styles from "./Compare.module.css";
import { offsetText, pairTable, type Line, type Pair } from "./pair";

const PLOT_PX = 92;
const AXIS_PX = 22;
const LEFT_PX = 62;
const RIGHT_PX = 10;
const GAP_PX = 14;

type Side = "mine" | "theirs";

export interface PairChartProps {
  pair: Pair;
  title: string;
  lengthUs: number;
  overlaid: boolean;
  /** Positions of changes, from 0, the start of a window, to 1; `notes` describe them. */
  changes: Readonly<Record<Side, readonly number[]>>;
  notes: readonly string[];
}

/** One metric of both sides: overlaid on one scale, or this above the other on one time axis. */
export function PairChart({ pair, title, lengthUs, overlaid, changes, notes }: PairChartProps): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(host);
  const rows: readonly (readonly [Line | null, Side][])[] = overlaid
    ? [[[pair.theirs, "theirs"], [pair.mine, "mine"]]]
    : [[[pair.mine, "mine"]], [[pair.theirs, "theirs"]]];
  const heightPx = rows.length * PLOT_PX + (rows.length - 1) * GAP_PX + AXIS_PX + 6;
  const innerPx = Math.max(1, widthPx - LEFT_PX - RIGHT_PX);
  const x = (us: number): number => LEFT_PX + (us / lengthUs) * innerPx;
  const step = tickStep(lengthUs, innerPx / 90);
  const ticks = Array.from({ length: Math.floor(lengthUs / step) + 1 }, (_, at) => at * step);
  const words = `${title}, highest: ${topText(pair.mine, pair.unit)}; other: ${topText(pair.theirs, pair.unit)}`;
  return (
    <figure className={styles["figure"]}>
      <figcaption>
        <h3 title={pair.meaning}>{title}</h3>
        <p>
          highest {topText(pair.mine, pair.unit)}, other {topText(pair.theirs, pair.unit)}
        </p>
        <FigureExport name={title} view={null} table={pairTable(pair)} notes={notes} />
      </figcaption>
      <div ref={host} style={{ minHeight: heightPx }}>
        {widthPx > 0 && (
          <svg width={widthPx} height={heightPx} role="img" aria-label={words}>
            {rows.map((lines, row) => {
              const top = 6 + row * (PLOT_PX + GAP_PX);
              const y = (value: number): number => top + PLOT_PX * (1 - value / pair.top);
              return (
                <g key={lines.length === 1 ? lines[0]?.[1] : "both"}>
                  {[0, pair.top].map((value) => (
                    <line key={value} className={styles["grid"]} x1={LEFT_PX} x2={widthPx - RIGHT_PX} y1={y(value)} y2={y(value)} />
                  ))}
                  <text className={styles["tick"]} x={LEFT_PX - 8} y={y(pair.top) + 9} textAnchor="end">
                    {inUnit(pair.top, pair.unit)}
                  </text>
                  <text className={styles["tick"]} x={LEFT_PX - 8} y={y(0)} textAnchor="end">
                    0
                  </text>
                  {lines.flatMap(([, side]) =>
                    changes[side].map((at, index) => (
                      <line key={`${side} ${index}`} className={styles["change"]} data-change={side} x1={x(at * lengthUs)} x2={x(at * lengthUs)} y1={y(pair.top)} y2={y(0)} />
                    )),
                  )}
                  {lines.map(([line, side]) =>
                    line === null ? (
                      <text key={side} className={styles["absent"]} x={LEFT_PX + 10} y={top + (side === "mine" ? 18 : 34)}>
                        {side === "mine" ? "not recorded in this window" : "not recorded in the other window"}
                      </text>
                    ) : (
                      <path key={side} className={styles[side]} d={pathOf(line, x, y)} />
                    ),
                  )}
                </g>
              );
            })}
            {ticks.map((us) => (
              <text key={us} className={styles["tick"]} x={x(us)} y={heightPx - 5} textAnchor={us === 0 ? "start" : x(us) > widthPx - 34 ? "end" : "middle"}>
                {offsetText(us)}
              </text>
            ))}
          </svg>
        )}
      </div>
    </figure>
  );
}

function topText(line: Line | null, unit: string): string {
  return line === null ? "not recorded" : inUnit(Math.max(...line.flat().map(({ value }) => value)), unit);
}

/** An isolated point is a short stroke: a path of one point would be invisible. */
function pathOf(line: Line, x: (us: number) => number, y: (value: number) => number): string {
  return line.map((run) => `M${run.map(({ us, value }) => `${x(us).toFixed(1)} ${y(value).toFixed(1)}`).join("L")}${run.length === 1 ? "h1.5" : ""}`).join("");
}
