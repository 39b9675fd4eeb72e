/** Figures as shown in the UI: always with a unit, with the precision that a decision needs. */


const counts = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export const MISSING = "–";

export function count(value: number | null | undefined): string {
  return value == null || Number.isNaN(value) ? MISSING : counts.format(value);
}

/** Three significant digits, no trailing zeros, no exponent: 0.23, 4.1, 60, 1,012. */
export function significant(value: number, digits = 3): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return counts.format(value);
  const decimals = Math.min(6, Math.max(0, digits - 1 - Math.floor(Math.log10(size))));
  // 999.7 is rounded to a figure with a comma.
  if (decimals === 0) return counts.format(value);
  return value.toFixed(decimals).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

/** A ratio 0..1 as "2.5 %". A nonzero share that rounds to zero is "< 0.01 %". */
export function percent(ratio: number | null | undefined): string {
  if (ratio == null || Number.isNaN(ratio)) return MISSING;
  const value = ratio * 100;
  if (value > 0 && value < 0.01) return "< 0.01 %";
  return `${significant(value, value < 10 ? 2 : 3)} %`;
}

export function milliseconds(ms: number | null | undefined): string {
  if (ms == null || Number.isNaN(ms)) return MISSING;
  if (ms >= 10_000) return `${significant(ms / 1000)} s`;
  return `${significant(ms, ms < 10 ? 2 : 3)} ms`;
}

export function microseconds(us: number | null | undefined): string {
  if (us == null || Number.isNaN(us)) return MISSING;
  if (us < 10) return `${significant(us, 2)} µs`;
  return us < 1000 ? `${Math.round(us)} µs` : milliseconds(us / 1000);
}

/** CPU usage or limit: "0.23 CPU". */
export function cpus(value: number | null | undefined): string {
  return value == null || Number.isNaN(value) ? MISSING : `${significant(value, value < 10 ? 2 : 3)} CPU`;
}

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

export function bytes(value: number | null | undefined): string {
  if (value == null || Number.isNaN(value)) return MISSING;
  let size = value;
  let unit = 0;
  while (Math.abs(size) >= 1024 && unit < BYTES.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${significant(size, unit === 0 ? 4 : 3)} ${BYTES[unit] ?? "B"}`;
}

/** A metric value in its unit, from contracts/metrics.toml or Prometheus (s, ratio); per second if the unit ends with /s. */
export function inUnit(value: number | null | undefined, unit: string): string {
  if (value == null || Number.isNaN(value)) return MISSING;
  if (unit.endsWith("/s")) return `${inUnit(value, unit.slice(0, -2))}/s`;
  if (unit === "us") return microseconds(value);
  if (unit === "s") return microseconds(value * 1_000_000);
  if (unit === "bytes") return bytes(value);
  if (unit === "ratio") return percent(value);
  return significant(value);
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${counts.format(n)} ${n === 1 ? one : many}`;
}

export type MeasureUnit = "bytes" | "1" | "us" | "ms" | "cpu" | "ratio" | "1/min" | "1/s" | "1/h" | "ms/min";

/** A figure in a unit used by verifications and predictions. */
export function measure(value: number | null | undefined, unit: MeasureUnit): string {
  if (value == null || Number.isNaN(value)) return MISSING;
  switch (unit) {
    case "ratio":
      return percent(value);
    case "ms":
      return milliseconds(value);
    case "ms/min":
      // Never in seconds: 10 s/min next to 5,000 ms/min is hard to compare.
      return `${significant(value, value < 10 ? 2 : 3)} ms/min`;
    case "1/min":
    case "1/s":
    case "1/h":
      return `${significant(value, 2)}${unit.slice(1)}`;
    case "us":
      return microseconds(value);
    case "bytes":
      return bytes(value);
    case "cpu":
      return cpus(value);
    case "1":
      return value >= 1000 ? count(Math.round(value)) : significant(value, 2);
  }
}

/** "0 to 420 ms/min": the unit once if both ends have the same one. */
export function measureRange(low: number, high: number, unit: MeasureUnit): string {
  return joinRange(measure(low, unit), measure(high, unit));
}

/** Two figures with units as a range. */
export function joinRange(low: string, high: string): string {
  if (low === high) return low;
  // "0 to < 0.01 %" says no more than its upper end.
  if (high.startsWith("<")) return high;
  const unit = / [^\d]+$/.exec(high)?.[0] ?? "";
  return unit !== "" && low.endsWith(unit) ? `${low.slice(0, -unit.length)} to ${high}` : `${low} to ${high}`;
}
