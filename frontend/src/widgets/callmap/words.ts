/** The map's figures in words. Pure. */

import type { MapCall, MapPlace, ServiceMap } from "@/api/services";
import { count, measure, microseconds, percent, plural, significant } from "@/lib/format";

export type Level = "slow" | "some" | "calm" | "unknown";

/** From the worst; a share of 1 % is one slow answer in a hundred. */
export const LEVELS: readonly { readonly id: Level; readonly mark: string; readonly text: string }[] = [
  { id: "slow", mark: "▲", text: "1 % or more over 20 ms" },
  { id: "some", mark: "△", text: "under 1 % over 20 ms" },
  { id: "calm", mark: "", text: "none over 20 ms" },
  { id: "unknown", mark: "?", text: "not measured" },
];

export const MARKS = Object.fromEntries(LEVELS.map(({ id, mark }) => [id, mark]));

export function levelOf({ slow_ratio: slow }: { slow_ratio: number | null }): Level {
  if (slow === null) return "unknown";
  return slow >= 0.01 ? "slow" : slow > 0 ? "some" : "calm";
}

/** The worst share of slow answers at a place: of its own servers, or of a call to it; null: it answers nothing. */
export function worstShare(place: MapPlace, calls: readonly MapCall[]): { slow_ratio: number | null } | null {
  const shares = [place, ...calls.filter(({ called }) => called === place.id)].map((one) => one.slow_ratio);
  if (shares.length === 1 && place.slow_ratio === null) return null;
  const known = shares.filter((share) => share !== null);
  return { slow_ratio: known.length === 0 ? null : Math.max(...known) };
}

const rateText = ({ protocol, calls_per_s: rate }: MapCall): string => `${significant(rate)} ${protocol === "dns" ? "queries" : "calls"}/s`;

/** What a label says, from the longest text to the shortest. */
export function labelTexts(call: MapCall): string[] {
  const mark = MARKS[levelOf(call)] ?? "";
  const prefix = [mark === "?" ? "" : mark, call.protocol === "dns" ? "DNS" : ""].filter((part) => part !== "").join(" ");
  const start = prefix === "" ? "" : `${prefix} `;
  if (call.p99_us === null) return [`${start}${significant(call.calls_per_s)}/s`];
  const p99 = microseconds(call.p99_us);
  // The line itself also has the level: the mark can go first.
  return [...new Set([`${start}p99 ${p99} · ${significant(call.calls_per_s)}/s`, `${start}${p99}`, p99])];
}

/** A call's figures in parts that stay on one line each. */
export function callParts(call: MapCall): string[] {
  const parts = call.p99_us === null ? [] : [`p50 ${microseconds(call.p50_us)}`, `p99 ${microseconds(call.p99_us)}`];
  if (call.slow_ratio !== null) parts.push(`${percent(call.slow_ratio)} over 20 ms`);
  return [...parts, rateText(call)];
}

/** Through which Services a place was called, unless it is one; null: none. */
export function serviceText({ services }: MapCall, called: MapPlace | undefined): string | null {
  return services.length === 0 || called?.kind === "service" ? null : `Service ${services.join(", ")}`;
}

/** What a place is, in a few words: what is wrong there, else where it is. */
export function placeNote(place: MapPlace): string {
  if (place.incidents.length > 0) return plural(place.incidents.length, "active incident");
  if (place.throttled_ms_per_min !== null && place.throttled_ms_per_min > 0) return `throttled ${measure(place.throttled_ms_per_min, "ms/min")}`;
  if (place.kind === "clients") return plural(place.members, "address", "addresses");
  if (place.kind === "address") return "outside, or not known";
  if (place.kind === "service") return place.workloads.length > 0 ? `Service of ${place.workloads.join(", ")}` : `Service in ${place.namespace ?? ""}, its pods are not known`;
  const parts = [place.namespace ?? "", place.members > 1 ? plural(place.members, "container") : "", place.members > 1 ? "" : (place.node?.name ?? "")];
  return parts.filter((part) => part !== "").join(" · ");
}

export const isTroubled = (place: MapPlace): boolean => place.incidents.length > 0 || (place.throttled_ms_per_min ?? 0) > 0;

/** A place as a sentence, for those who do not see its lines. */
export function placeText(place: MapPlace, calls: readonly MapCall[]): string {
  const answers = place.slow_ratio === null ? [] : [`${percent(place.slow_ratio)} of its answers over 20 ms`];
  const around = [plural(calls.filter(({ called }) => called === place.id).length, "caller"), `calls ${count(calls.filter(({ caller }) => caller === place.id).length)}`];
  return [place.name, placeNote(place), ...answers, ...around].filter((part) => part !== "").join(", ");
}

/** What the map does not show; null if it shows all. */
export function leftOut(map: ServiceMap): string | null {
  const parts: string[] = [];
  if (map.calls.length < map.calls_found) {
    parts.push(`Shown: ${count(map.calls.length)} of ${plural(map.calls_found, "call")}, those with the most slow answers, between ${count(map.places.length)} of ${plural(map.places_found, "place")}.`);
  }
  if (map.paths_compared < map.paths_seen) parts.push(`Made of the ${count(map.paths_compared)} most recently seen of ${count(map.paths_seen)} pairs of a caller and an address.`);
  return parts.length === 0 ? null : `${parts.join(" ")} Filter to see others.`;
}
