/** A server's figures in a few words. Pure. */

import { SLOW_US } from "@/api/catalogue.gen";
import type { ServiceItem } from "@/api/services";
import { inUnit, measure, MISSING, plural, significant } from "@/lib/format";
import { clock } from "@/lib/time";

/** DNS servers get queries, all others get requests. */
const nounOf = (kind: ServiceItem["kind"]): string => (kind === "dns_server" ? "queries" : "requests");

export const rateText = ({ kind, requests_per_s: rate }: ServiceItem): string => (rate === null ? MISSING : `${significant(rate)} ${nounOf(kind)}/s`);

/** "5xx 2.5/s", "gRPC errors 2.5/s"; nothing for a protocol without such answers, or of which no status was seen. */
export function serverErrorTexts({ server_errors_per_s: http, grpc_errors_per_s: grpc }: ServiceItem): string[] {
  const texts = [];
  if (http !== null && http > 0) texts.push(`5xx ${significant(http)}/s`);
  if (grpc !== null && grpc > 0) texts.push(`gRPC errors ${significant(grpc)}/s`);
  return texts;
}

type Hop = ServiceItem["asks"][number];

/** What is called: the server, else the Service with that address, else the address. */
export const calledName = ({ server, service, name }: Hop): string => server?.name ?? service ?? name;

/** What a Service leads to; null if no Service is shown. */
function behindText({ server, service, workloads }: Hop): string | null {
  if (server !== null || service === null) return null;
  if (workloads.length === 0) return "Service, its pods are not known";
  return `Service of ${workloads.join(", ")}`;
}

/** A hop to an upstream in parts that stay on one line each: what a Service leads to, its latency, and its rate. */
export function hopParts(hop: Hop): string[] {
  const { p50_us: p50, p99_us: p99, max_us: max, calls_per_s: rate } = hop;
  const behind = behindText(hop);
  const times = p50 === null || p99 === null ? [] : [`p50 ${inUnit(p50, "us")}`, `p99 ${inUnit(p99, "us")}`];
  if (max !== null) times.push(`up to ${inUnit(max, "us")}`);
  return [...(behind === null ? [] : [behind]), ...times, `${significant(rate)} calls/s`];
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

/** What stalled a container; null if nothing did, or if it was not measured. */
export function throttledText({ throttled_ms_per_min: throttled }: ServiceItem): string | null {
  return throttled === null || throttled === 0 ? null : `throttled ${measure(throttled, "ms/min")}`;
}
