/** The value ranges of the lanes. Pure. */

import type { TimelineModel } from "./model";

/** The next "round" number at or above: 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 × 10^n. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((candidate) => candidate * size >= value * 0.999999) ?? 10;
  return step * size;
}

/** The round end of an axis that fits a value: of bytes, round in KiB, MiB, or GiB. */
export function axisTop(value: number, unit: string): number {
  if (unit !== "bytes" || value <= 0) return roundUp(value);
  const size = 1024 ** Math.floor(Math.log(value) / Math.log(1024));
  return roundUp(value / size) * size;
}

/** CPUs at the top of the CPU lane, so that the highest bar and the limit fit, with room for the limit's label. */
export function cpuTop(model: TimelineModel): number {
  let top = 0;
  for (const ticks of [model.cpu, model.coarse]) for (const value of ticks?.cpus ?? []) if (value > top) top = value;
  for (const step of model.limits) {
    // A limit far above the bars would flatten them, so only its label shows it.
    if (step.cpus !== null && (top === 0 || step.cpus < top * 8)) top = Math.max(top, step.cpus * 1.15);
  }
  return roundUp(top === 0 ? 1 : top * 1.05);
}

/** log10 µs at the bottom and top of the latency lane, in half decades. The detail of a part has answers that the overview leaves out. */
export function latencyRange(model: TimelineModel, detail: TimelineModel = model): { readonly lowLog: number; readonly highLog: number } {
  let low = Infinity;
  let high = -Infinity;
  for (const { answers } of detail === model ? [model] : [model, detail]) {
    for (const value of answers.logLatency) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  const consider = (us: number): void => {
    if (Number.isNaN(us)) return;
    low = Math.min(low, Math.log10(Math.max(1, us)));
    high = Math.max(high, Math.log10(Math.max(1, us)));
  };
  model.rate.p50Us.forEach(consider);
  model.rate.maxUs.forEach(consider);
  if (low > high) return { lowLog: 2, highLog: 5 };
  const threshold = Math.log10(model.slowThresholdUs);
  const roundedLow = Math.max(0, Math.floor(low * 2 - 0.1) / 2);
  const roundedHigh = Math.ceil(Math.max(high, threshold) * 2 + 0.2) / 2;
  return { lowLog: Math.min(roundedLow, roundedHigh - 1), highLog: roundedHigh };
}

export function decades(lowLog: number, highLog: number): number[] {
  const found: number[] = [];
  for (let log = Math.ceil(lowLog); log <= highLog; log += 1) found.push(10 ** log);
  return found;
}

/** Axis marks for counts: zero, half, and all of the largest round integer below the top. */
export function wholeSplits(top: number): number[] {
  if (top < 2) return [0, 1];
  const size = 10 ** Math.floor(Math.log10(top));
  const step = [8, 6, 5, 4, 2, 1].find((candidate) => candidate * size <= top) ?? 1;
  const most = step * size;
  return most % 2 === 0 ? [0, most / 2, most] : [0, most];
}
