/** The figures that prediction and recording have in common, and the prediction in one sentence. Pure. */

import type { Schemas } from "@/api/client";
import type { Prediction, SettingChange, WhatIf } from "@/api/whatif";
import { cpus, joinRange, measure, milliseconds, percent } from "@/lib/format";
import { inSentence } from "@/lib/text";

import { changeText } from "./setting";

type Interval = Schemas["Interval"];
type Name = "throttled_ms_per_min" | "throttled_ratio" | "slow_ratio" | "p50_ms" | "p99_ms" | "gc_cycles_per_min" | "cpu_mean";

export interface ComparedFigure {
  readonly name: Name;
  readonly title: string;
  readonly recorded: number | null;
  readonly predicted: Interval | null;
  readonly format: (value: number | null) => string;
}

const perMinute = (value: number | null): string => measure(value, "ms/min");
const cycles = (value: number | null): string => measure(value, "1/min");

const FIGURES: readonly (readonly [Name, string, (value: number | null) => string])[] = [
  ["throttled_ms_per_min", "Throttled time", perMinute],
  ["throttled_ratio", "Throttled periods", percent],
  ["slow_ratio", "Slow answers", percent],
  ["p50_ms", "p50 latency", milliseconds],
  ["p99_ms", "p99 latency", milliseconds],
  ["gc_cycles_per_min", "GC cycles", cycles],
  ["cpu_mean", "Mean CPU", cpus],
];

/** In reading order, without figures that are neither recorded nor predicted. */
export function comparedFigures(recorded: WhatIf["recorded"]["figures"], prediction: Prediction | null): ComparedFigure[] {
  return FIGURES.map(([name, title, format]) => ({ name, title, format, recorded: recorded[name], predicted: prediction?.[name] ?? null })).filter(
    (figure) => figure.recorded !== null || figure.predicted !== null,
  );
}

export function rangeText({ predicted, format }: Pick<ComparedFigure, "predicted" | "format">): string {
  if (predicted === null) return "";
  const [low, high] = [format(predicted.low), format(predicted.high)];
  return low === high ? "" : joinRange(low, high);
}

/** For screen readers, and for readers who only want the answer. */
export function sentence(change: SettingChange, figures: readonly ComparedFigure[], prediction: Prediction): string {
  const setting = changeText(change);
  const parts = figures
    .filter((figure) => ["throttled_ms_per_min", "slow_ratio", "p99_ms"].includes(figure.name))
    .map((figure) => {
      if (figure.predicted === null) return `${inSentence(figure.title)} not predicted`;
      const range = rangeText(figure);
      const was = figure.recorded === null ? "" : `, recorded ${figure.format(figure.recorded)}`;
      return `${inSentence(figure.title)} ${figure.format(figure.predicted.expected)}${range === "" ? "" : ` (${range})`}${was}`;
    });
  const told = parts.length === 0 ? "no prediction" : parts.join("; ");
  const cannot = prediction.cannot_tell === null ? "" : ` Not predicted: ${reasonText(prediction.cannot_tell)}`;
  return `${setting === "" ? "As recorded, replayed" : `With ${setting}`}: ${told}.${cannot}`;
}

/** The text after "because". */
export const reasonText = (text: string): string => inSentence(text.replace(/^cannot tell,? because /i, ""));
