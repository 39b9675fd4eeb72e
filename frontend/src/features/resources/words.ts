/** What a container's figures say in a few words, and where its worst tick is. Pure. */

import type { ContainerItem } from "@/api/containers";
import { cpus, microseconds, MISSING, percent, plural } from "@/lib/format";
import { formatView } from "@/lib/search";
import { clock, dateTime, US_PER_S, type Zone } from "@/lib/time";

import type { ResourceSearch } from "./search";

const MINUTE_US = 60 * US_PER_S;

/** "coredns-7c9" with "kube-system · coredns" below it; without names the path, its hashes cut to what tells them apart. */
export function namesOf(item: Pick<ContainerItem, "name" | "key" | "namespace" | "pod" | "container">): { main: string; detail: string } {
  if (item.pod !== null) return { main: item.pod, detail: [item.namespace, item.container].filter((part) => part !== null).join(" · ") };
  if (item.container !== null) return { main: item.container, detail: shortPath(item.key) };
  const parts = item.key.split("/").filter((part) => part !== "");
  return { main: shortPath(parts.at(-1) ?? item.key), detail: shortPath(parts.slice(0, -1).join("/")) };
}

/** Ids of containers and pods cut to their first 12 characters, as the tools print them. */
export const shortPath = (path: string): string => path.replace(/[0-9a-f]{32,}/g, (id) => `${id.slice(0, 12)}…`).replace(/([0-9a-f]{8})[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}/g, "$1…");

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

/** When the worst tick was, with the date where that is not today's. */
export function tickTime({ at_us: us, span_us: span }: NonNullable<ContainerItem["worst_tick"]>, nowUs: number, zone: Zone): string {
  const time = span >= MINUTE_US ? clock(us, 0, zone).slice(0, 5) : clock(us, 1, zone);
  const [day, today] = [dateTime(us, zone).slice(0, 10), dateTime(nowUs, zone).slice(0, 10)];
  return day === today ? time : `${day} ${time}`;
}

/** Where to look at the worst tick: selected, with the seconds around it. Of what ticks are no longer kept: its minute. */
export function tickSearch({ at_us: us, span_us: span }: NonNullable<ContainerItem["worst_tick"]>): ResourceSearch {
  const isTick = span < MINUTE_US;
  const around = isTick ? { fromUs: us - 2.5 * US_PER_S, toUs: us + span + 2.5 * US_PER_S } : { fromUs: us, toUs: us + span };
  return { minutes: 5, to: us + 2.5 * MINUTE_US, view: formatView(around), sel: isTick ? formatView({ fromUs: us, toUs: us + span }) : undefined };
}
