/** A row of bars on a log scale, one per time step: its highest value. Pure. */

export interface SparkBar {
  /** Relative to width and height, 0..1; `y` is the bar's top, measured from the bottom. */
  readonly x: number;
  readonly width: number;
  readonly y: number;
  readonly value: number;
}

export interface SparkScale {
  readonly low: number;
  readonly high: number;
}

/** Position of a value on a log scale, 0..1. */
export function heightOf(value: number, { low, high }: SparkScale): number {
  const part = Math.log(Math.max(value, low) / low) / Math.log(high / low);
  return Math.min(1, Math.max(0, part));
}

/** At most `most` bars; a step without a value has none. */
export function bars(values: readonly (number | null)[], scale: SparkScale, most: number): SparkBar[] {
  const fold = Math.max(1, Math.ceil(values.length / most));
  const slots = Math.ceil(values.length / fold);
  const found: SparkBar[] = [];
  for (let slot = 0; slot < slots; slot += 1) {
    const known = values.slice(slot * fold, (slot + 1) * fold).filter((value) => value !== null);
    if (known.length === 0) continue;
    const value = Math.max(...known);
    found.push({ x: slot / slots, width: 1 / slots, y: heightOf(value, scale), value });
  }
  return found;
}

/** One scale for all rows of a table, to make them comparable: from 0.1 ms to the next power of ten. */
export function commonScale(rows: readonly (readonly (number | null)[])[]): SparkScale {
  const highest = Math.max(100_000, ...rows.flatMap((row) => row.filter((value) => value !== null)));
  return { low: 100, high: 10 ** Math.ceil(Math.log10(highest)) };
}

/** Runs of marked values, relative to the width, 0..1. */
export function stretches(marked: readonly boolean[]): [from: number, to: number][] {
  const found: [number, number][] = [];
  marked.forEach((is, at) => {
    if (!is) return;
    const last = found.at(-1);
    const [from, to] = [at / marked.length, (at + 1) / marked.length];
    if (last?.[1] === from) last[1] = to;
    else found.push([from, to]);
  });
  return found;
}

/** The same for CPU usage: from 0.01 CPU to the next power of ten above all values and thresholds. */
export function cpuScale(rows: readonly { values: readonly (number | null)[]; threshold: number | null }[]): SparkScale {
  const highest = Math.max(0.1, ...rows.flatMap(({ values, threshold }) => [...values.filter((value) => value !== null), threshold ?? 0]));
  return { low: 0.01, high: 10 ** Math.ceil(Math.log10(highest * 1.05)) };
}
