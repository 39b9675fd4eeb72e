/** Containers in a window: throttled time, worst tick, and peaks of each. */

import { infiniteQueryOptions, keepPreviousData } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type Containers = Schemas["Containers"];
export type ContainerItem = Schemas["ContainerItem"];
export type ContainerOrder = "name" | "node" | "throttled" | "worst" | "peak" | "mean" | "limit" | "memory" | "seen";

export interface ContainerList {
  minutes: number;
  /** The window, µs; absent: the last `minutes`. */
  from?: number | undefined;
  to?: number | undefined;
  search: string;
  node?: number | undefined;
  throttled: boolean;
  gone: boolean;
  every: boolean;
  order: ContainerOrder;
  descending: boolean;
}

const LIVE_MS = 30_000;

// The type of the options is inferred on purpose: it carries the types of the key and the data.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const containersQuery = (list: ContainerList) =>
  infiniteQueryOptions({
    queryKey: ["containers", list] as const,
    queryFn: ({ pageParam, signal }) => {
      const { minutes, from, to, ...rest } = list;
      const endUs = to ?? Date.now() * 1000;
      const window = { from: String(Math.round(from ?? endUs - minutes * 60_000_000)), to: String(Math.round(endUs)) };
      return unwrap(api.GET("/api/v1/containers", { params: { query: { ...window, ...rest, cursor: pageParam } }, signal }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: list.to === undefined ? LIVE_MS : false,
  });
