/** Display name of a container, and the location of its worst tick. Pure. */

import { formatView, type PictureSearch } from "./search";
import { clock, dateTime, US_PER_S, type Zone } from "./time";

const MINUTE_US = 60 * US_PER_S;

interface Named {
  key: string;
  namespace: string | null;
  pod: string | null;
  container: string | null;
}

/** A 100 ms tick, or its minute if ticks are no longer kept. */
interface WorstTick {
  at_us: number;
  span_us: number;
}

/** Search parameters of a resource's page. */
interface TickSearch extends PictureSearch {
  minutes: number;
  to: number;
}

/** "coredns-7c9" with "kube-system · coredns" below it; without names, the path with shortened hashes. */
export function namesOf(item: Named): { main: string; detail: string } {
  if (item.pod !== null) return { main: item.pod, detail: [item.namespace, item.container].filter((part) => part !== null).join(" · ") };
  if (item.container !== null) return { main: item.container, detail: shortPath(item.key) };
  const parts = item.key.split("/").filter((part) => part !== "");
  return { main: shortPath(parts.at(-1) ?? item.key), detail: shortPath(parts.slice(0, -1).join("/")) };
}

/** Container and pod IDs cut to their first 12 characters, as other tools print them. */
export const shortPath = (path: string): string => path.replace(/[0-9a-f]{32,}/g, (id) => `${id.slice(0, 12)}…`).replace(/([0-9a-f]{8})[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}/g, "$1…");

/** Time of the worst tick, with the date if it is not today. */
export function tickTime({ at_us: us, span_us: span }: WorstTick, nowUs: number, zone: Zone): string {
  const time = span >= MINUTE_US ? clock(us, 0, zone).slice(0, 5) : clock(us, 1, zone);
  const [day, today] = [dateTime(us, zone).slice(0, 10), dateTime(nowUs, zone).slice(0, 10)];
  return day === today ? time : `${day} ${time}`;
}

/** Link to the worst tick: selected, with the seconds around it, or its minute if ticks are no longer kept. */
export function tickSearch({ at_us: us, span_us: span }: WorstTick): TickSearch {
  const isTick = span < MINUTE_US;
  const around = isTick ? { fromUs: us - 2.5 * US_PER_S, toUs: us + span + 2.5 * US_PER_S } : { fromUs: us, toUs: us + span };
  return { minutes: 5, to: us + 2.5 * MINUTE_US, view: formatView(around), sel: isTick ? formatView({ fromUs: us, toUs: us + span }) : undefined };
}
