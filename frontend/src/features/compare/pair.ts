/** Two lines on one axis: the drawn points of each. Pure. */

import type { ComparedMeasure } from "@/api/compare";
import type { SeriesChart } from "@/api/resources";
import { axisTop } from "@/charts/timeline/scales";
import { measure, significant } from "@/lib/format";
import type { CsvTable } from "@/lib/csv";
import { US_PER_S } from "@/lib/time";

interface Point {
  /** From the start of its window, µs. */
  readonly us: number;
  readonly value: number;
}

/** Runs of points without a gap: missing points are never bridged. */
export type Line = readonly (readonly Point[])[];

export interface Pair {
  readonly metric: string;
  readonly unit: string;
  readonly kind: SeriesChart["kind"];
  readonly meaning: string;
  /** null: not recorded there. */
  readonly mine: Line | null;
  readonly theirs: Line | null;
  readonly top: number;
}

/** A point's value: its highest tick, or p99 for a distribution, so that no stall averages out. */
const shownOf = (kind: SeriesChart["kind"]): "high" | "mean" => (kind === "distribution" ? "mean" : "high");

export function lineOf(chart: SeriesChart, fromUs: number): Line | null {
  const values = chart[shownOf(chart.kind)];
  const runs: Point[][] = [];
  let open: Point[] | null = null;
  chart.t_us.forEach((us, at) => {
    const value = values[at] ?? null;
    if (value === null) {
      open = null;
      return;
    }
    if (open === null) runs.push((open = []));
    open.push({ us: us - fromUs, value });
  });
  return runs.length === 0 ? null : runs;
}

/** Metrics recorded on either side, each with one scale for both. */
export function pairsOf(mine: readonly SeriesChart[], mineFromUs: number, theirs: readonly SeriesChart[], theirsFromUs: number): Pair[] {
  const names = [...new Set([...mine, ...theirs].map((chart) => chart.metric))];
  return names.flatMap((metric) => {
    const [one, two] = [mine.find((chart) => chart.metric === metric), theirs.find((chart) => chart.metric === metric)];
    const known = one ?? two;
    if (known === undefined) return [];
    const [first, second] = [one === undefined ? null : lineOf(one, mineFromUs), two === undefined ? null : lineOf(two, theirsFromUs)];
    if (first === null && second === null) return [];
    const top = Math.max(0, ...[...(first ?? []), ...(second ?? [])].flat().map(({ value }) => value));
    return [{ metric, unit: known.unit, kind: known.kind, meaning: known.meaning, mine: first, theirs: second, top: axisTop(top, known.unit) }];
  });
}

/** The metrics whose values overlap least between the windows first, then in the given order. */
export const byDifference = (pairs: readonly Pair[]): Pair[] => {
  const apart = new Map(pairs.map((pair) => [pair, distance(pair.mine, pair.theirs)]));
  return pairs.toSorted((one, other) => (apart.get(other) ?? 0) - (apart.get(one) ?? 0));
};

/** From 0, the same values, to 1, none in common or recorded on one side only: the distance of Kolmogorov and Smirnov. */
export function distance(mine: Line | null, theirs: Line | null): number {
  if (mine === null || theirs === null) return mine === theirs ? 0 : 1;
  const [first, second] = [sortedValues(mine), sortedValues(theirs)];
  let [most, i, j] = [0, 0, 0];
  while (i < first.length && j < second.length) {
    const value = Math.min(first[i] as number, second[j] as number);
    while (first[i] === value) i += 1;
    while (second[j] === value) j += 1;
    most = Math.max(most, Math.abs(i / first.length - j / second.length));
  }
  return most;
}

const sortedValues = (line: Line): number[] => line.flatMap((run) => run.map(({ value }) => value)).sort((a, b) => a - b);

/** Both lines by the time from the start of their windows. */
export function pairTable({ metric, unit, mine, theirs }: Pair): CsvTable {
  const values = (line: Line | null): Map<number, number> => new Map((line ?? []).flat().map(({ us, value }) => [us, value]));
  const suffix = unit === "1" || unit === "" ? "" : ` (${unit})`;
  return {
    name: metric,
    columns: ["From the start of the window (s)", `this ${metric}${suffix}`, `other ${metric}${suffix}`],
    rows: () => {
      const [first, second] = [values(mine), values(theirs)];
      return [...new Set([...first.keys(), ...second.keys()])].sort((a, b) => a - b).map((us) => [us / US_PER_S, first.get(us) ?? null, second.get(us) ?? null]);
    },
  };
}

/** "+1 min 30 s" on the common axis. */
export function offsetText(us: number): string {
  const seconds = Math.round(us / US_PER_S);
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
  if (minutes === 0) return `+${rest} s`;
  return rest === 0 ? `+${minutes} min` : `+${minutes} min ${rest} s`;
}

/** A figure of both sides as a sentence, for screen readers. */
export function differenceText({ title, unit, this: mine, other, ratio, differs, adjusted_p: p }: ComparedMeasure): string {
  const figures = `${title}: ${measure(mine, unit)}, other ${measure(other, unit)}`;
  const times = ratio === null ? "" : `, ${significant(ratio.expected, 2)} × (${significant(ratio.low, 2)} to ${significant(ratio.high, 2)} ×)`;
  return `${figures}${times}; ${p === null ? "not tested" : differs ? `differs, ${pText(p)}` : `no difference shown, ${pText(p)}`}`;
}

export const pText = (p: number): string => (p < 0.0001 ? "p < 0.0001" : `p = ${significant(p, 2)}`);
