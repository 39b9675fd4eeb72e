/** Times in the UI are µs since the epoch, UTC, as numbers (exact up to the year 2255). */

const US_PER_MS = 1000;
export const US_PER_S = 1_000_000;

/** RFC 3339 to µs since the epoch. `Date` would drop the digits after the millisecond. */
export function parseUs(rfc3339: string): number {
  const fraction = /\.(\d+)/.exec(rfc3339)?.[1] ?? "";
  const wholeMs = Date.parse(rfc3339.replace(/\.\d+/, ""));
  if (Number.isNaN(wholeMs)) throw new Error(`Not an RFC 3339 time: ${rfc3339}`);
  return wholeMs * US_PER_MS + Number(fraction.padEnd(6, "0").slice(0, 6) || "0");
}

/** µs since the epoch to RFC 3339 UTC with microseconds. */
export function toRfc3339(us: number): string {
  const whole = Math.floor(us / US_PER_S);
  const fraction = Math.round(us - whole * US_PER_S);
  return `${new Date(whole * 1000).toISOString().slice(0, 19)}.${String(fraction).padStart(6, "0")}Z`;
}

export type Zone = "local" | "utc";

function parts(us: number, zone: Zone): { date: string; time: string } {
  const date = new Date(Math.floor(us / US_PER_MS));
  const two = (value: number): string => String(value).padStart(2, "0");
  if (zone === "utc") {
    const iso = date.toISOString();
    return { date: iso.slice(0, 10), time: iso.slice(11, 19) };
  }
  return {
    date: `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`,
    time: `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`,
  };
}

/** Clock time with `digits` decimals of a second: "14:02:13.4". */
export function clock(us: number, digits = 0, zone: Zone = "local"): string {
  const { time } = parts(us, zone);
  if (digits === 0) return time;
  const inSecond = ((us % US_PER_S) + US_PER_S) % US_PER_S;
  return `${time}.${String(Math.floor(inSecond)).padStart(6, "0").slice(0, digits)}`;
}

/** "2026-11-21 14:02:13" */
export function dateTime(us: number, zone: Zone = "local"): string {
  const { date, time } = parts(us, zone);
  return `${date} ${time}`;
}

/** Local and UTC, for tooltips. */
export function bothZones(us: number, digits = 3): string {
  return `${parts(us, "local").date} ${clock(us, digits)} local · ${clock(us, digits, "utc")} UTC`;
}

/** Only the clock time if `us` is on the same local day as `nowUs`, otherwise with the date. */
export function shortWhen(us: number, nowUs: number): string {
  const when = parts(us, "local");
  const minute = when.time.slice(0, 5);
  return when.date === parts(nowUs, "local").date ? minute : `${when.date} ${minute}`;
}

const SPANS: readonly (readonly [number, string])[] = [
  [86_400 * US_PER_S, "d"],
  [3_600 * US_PER_S, "h"],
  [60 * US_PER_S, "min"],
  [US_PER_S, "s"],
];

/** A human-readable duration: "6 min", "4.5 s", "420 ms", "86 µs". */
export function duration(us: number): string {
  const size = Math.abs(us);
  if (size < US_PER_MS) return `${Math.round(us)} µs`;
  if (size < 0.9995 * US_PER_S) return `${trim(us / US_PER_MS, size < 10 * US_PER_MS ? 1 : 0)} ms`;
  for (const [unit, name] of SPANS) {
    if (size >= unit) return `${trim(us / unit, size < 10 * unit && name !== "min" ? 1 : 0)} ${name}`;
  }
  return `${trim(us / US_PER_S, 1)} s`;
}

/** "just now", "12 s ago", "6 min ago", "1.5 h ago". Whole seconds: a clock that ticks every few seconds has no tenths. */
export function ago(us: number, nowUs: number): string {
  const passed = nowUs - us;
  if (passed < 5 * US_PER_S) return "just now";
  if (passed < 60 * US_PER_S) return `${Math.floor(passed / US_PER_S)} s ago`;
  return `${duration(passed)} ago`;
}

function trim(value: number, digits: number): string {
  return value.toFixed(digits).replace(/\.0$/, "");
}

/** "15 min", "6 h". */
export const minutesText = (minutes: number): string => (minutes < 60 ? `${minutes} min` : `${minutes / 60} h`);
