/** What a server's figures say in a few words. Pure. */

import type { ServiceItem } from "@/api/services";
import { inUnit, measure, MISSING, plural, significant } from "@/lib/format";
import { clock } from "@/lib/time";

/** What the collectors count as slow, µs. */
export const SLOW_US = 20_000;

/** DNS is asked with queries, anything else with requests. */
const nounOf = (kind: ServiceItem["kind"]): string => (kind === "dns_server" ? "queries" : "requests");

export const rateText = ({ kind, requests_per_s: rate }: ServiceItem): string => (rate === null ? MISSING : `${significant(rate)} ${nounOf(kind)}/s`);

/** "5xx 2.5/s"; null where there was no such answer, and where no status was seen. */
export const serverErrorsText = ({ server_errors_per_s: errors }: ServiceItem): string | null => (errors === null || errors === 0 ? null : `5xx ${significant(errors)}/s`);

/** A hop to another server in parts that stay on one line each: how long it takes, and how often. */
export function hopParts({ p50_us: p50, p99_us: p99, max_us: max, calls_per_s: rate }: ServiceItem["asks"][number]): string[] {
  const times = p50 === null || p99 === null ? [] : [`p50 ${inUnit(p50, "us")}`, `p99 ${inUnit(p99, "us")}`];
  if (max !== null) times.push(`up to ${inUnit(max, "us")}`);
  return [...times, `${significant(rate)} calls/s`];
}

/** The sparkline as a sentence. `fromUs`: start of its first minute. */
export function worstText(worst: readonly (number | null)[], fromUs: number): string {
  let at = -1;
  let slow = 0;
  let known = 0;
  worst.forEach((us, minute) => {
    if (us === null) return;
    known += 1;
    if (us > SLOW_US) slow += 1;
    if (at < 0 || us > (worst[at] ?? 0)) at = minute;
  });
  if (at < 0) return "No answers recorded";
  return `Slowest answer ${inUnit(worst[at], "us")} at ${clock(fromUs + at * 60_000_000).slice(0, 5)}; over 20 ms in ${slow} of ${plural(known, "minute")}`;
}

/** What a container was held up by; null where it was not, and where that was not measured. */
export function throttledText({ throttled_ms_per_min: throttled }: ServiceItem): string | null {
  return throttled === null || throttled === 0 ? null : `throttled ${measure(throttled, "ms/min")}`;
}
