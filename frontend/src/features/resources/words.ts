/** A container's figures in a few words. Pure. */

import type { ContainerItem } from "@/api/containers";
import type { RequestKind } from "@/api/services";
import { cpus, microseconds, MISSING, percent, plural } from "@/lib/format";
import { clock, US_PER_S, type Zone } from "@/lib/time";

const MINUTE_US = 60 * US_PER_S;

/** The sparkline as a sentence. `fromUs`: start of its first step. */
export function peaksText({ peaks, throttled, cpu_limit: limit }: Pick<ContainerItem, "peaks" | "throttled" | "cpu_limit">, fromUs: number, stepUs: number, zone: Zone): string {
  let at = -1;
  let known = 0;
  peaks.forEach((peak, step) => {
    if (peak === null) return;
    known += 1;
    if (at < 0 || peak > (peaks[at] ?? 0)) at = step;
  });
  if (at < 0) return "No CPU usage recorded";
  const step = stepUs === MINUTE_US ? "minute" : `step of ${stepUs / MINUTE_US} min`;
  const bad = throttled.filter(Boolean).length;
  const highest = `Highest 100 ms ${cpus(peaks[at])} at ${clock(fromUs + at * stepUs, 0, zone).slice(0, 5)}`;
  const held = bad === 0 ? "not throttled" : `throttled in ${bad} of ${plural(known, step, step.replace(/^(minute|step)/, "$1s"))}`;
  return `${highest}${limit === null ? "" : `, limit ${cpus(limit)}`}; ${held}`;
}

/** "420 ms, 2.5 % of periods". */
export function throttledText({ throttled_us: us, throttled_ratio: ratio }: Pick<ContainerItem, "throttled_us" | "throttled_ratio">): string {
  if (us === null) return MISSING;
  if (us === 0) return "0 ms";
  return ratio === null ? microseconds(us) : `${microseconds(us)}, ${percent(ratio)} of periods`;
}

/** "gRPC 14 UNAVAILABLE 20 %, 5 NOT_FOUND 5 %": the most frequent ones; empty if there are none. */
export function grpcText(statuses: RequestKind["grpc_statuses"], most = statuses.length): string {
  const texts = statuses.slice(0, most).map(({ code, name, ratio }) => `${code} ${name} ${percent(ratio)}`);
  if (statuses.length > most) texts.push(plural(statuses.length - most, "other"));
  return texts.length === 0 ? "" : `gRPC ${texts.join(", ")}`;
}

/** Error ratio of a kind of request: a dash if not measured, empty if the protocol has no status. */
export function errorsText(kind: string | null, ratio: number | null): string {
  return kind === null || /^[A-Z]+ /.test(kind) ? percent(ratio) : "";
}
