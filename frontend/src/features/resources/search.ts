import type { ContainerOrder } from "@/api/containers";
import { optionalString, optionalNumber, oneOf, pictureSearch, type PictureSearch } from "@/lib/search";
import { sorting, type Sorted } from "@/lib/sorting";
import type { Zone } from "@/lib/time";

export const KINDS = ["cgroup", "process", "tcp_server", "tcp_upstream", "dns_server", "dns_path", "probe", "node"] as const;
export const MINUTES = [15, 60, 360, 1440] as const;
export const DEFAULT_MINUTES = 60;
/** The server's maximum window, in minutes. */
export const LONGEST_MINUTES = 1440;
const ORDERS = ["name", "node", "throttled", "worst", "peak", "mean", "limit", "memory", "seen"] as const satisfies readonly ContainerOrder[];
export const SORTING = sorting<ContainerOrder>("worst", ["name", "node"]);

/** The explorer's filter in the URL. Order and time range apply only to containers. */
export interface ResourceListSearch extends Sorted<ContainerOrder> {
  q?: string | undefined;
  kind?: (typeof KINDS)[number] | undefined;
  node?: number | undefined;
  throttled?: true | undefined;
  /** Include resources not seen in the last minutes. */
  all?: true | undefined;
  /** Include the cgroups that contain containers. */
  every?: true | undefined;
  minutes?: (typeof MINUTES)[number] | undefined;
  /** An absolute range, µs; absent: the last minutes. */
  from?: number | undefined;
  to?: number | undefined;
  /** Time zone for input and display; absent: the browser's. */
  zone?: "utc" | undefined;
}

const flag = (value: unknown): true | undefined => (value === true || value === "true" ? true : undefined);

export function resourceListSearch(search: Record<string, unknown>): ResourceListSearch {
  const minutes = optionalNumber(search["minutes"]);
  const [from, to] = [optionalNumber(search["from"]), optionalNumber(search["to"])];
  const isRange = from !== undefined && to !== undefined && from < to;
  return {
    q: optionalString(search["q"]),
    kind: oneOf(search["kind"], KINDS),
    node: optionalNumber(search["node"]),
    throttled: flag(search["throttled"]),
    all: flag(search["all"]),
    every: flag(search["every"]),
    order: oneOf(search["order"], ORDERS),
    direction: oneOf(search["direction"], ["up", "down"]),
    minutes: MINUTES.find((choice) => choice === minutes),
    from: isRange ? from : undefined,
    to: isRange ? to : undefined,
    zone: oneOf(search["zone"], ["utc"]),
  };
}

export const zoneOf = ({ zone }: ResourceListSearch): Zone => zone ?? "local";

export const DEFAULT_RESOURCE_MINUTES = 5;

/** A resource's timeline, and the window it can move in, in minutes. */
export interface ResourceSearch extends PictureSearch {
  minutes?: number | undefined;
  /** End of the window, µs; absent: now. */
  to?: number | undefined;
  /** How far its callers and calls are shown; absent: 1. */
  hops?: 2 | undefined;
}

export function resourceSearch(search: Record<string, unknown>): ResourceSearch {
  return { ...pictureSearch(search), minutes: optionalNumber(search["minutes"]), to: optionalNumber(search["to"]), hops: optionalNumber(search["hops"]) === 2 ? 2 : undefined };
}
