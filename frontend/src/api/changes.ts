/** Changes, as reported by pipelines and as seen in the history of facts. */

import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { US_PER_S } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";

import { api, unwrap, type Schemas } from "./client";

export type Change = Schemas["Change"];
export type Changes = Schemas["Changes"];

/** Reads the facts of a thousand resources, so once a minute is enough. */
const LIVE_MS = 60_000;
const MINUTE_US = 60 * US_PER_S;
/** Changes shortly before a chart's window are shown with it. */
const BEFORE_US = 10 * MINUTE_US;
const MOST = 200;

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
/** All changes of the last 24 h. */
export const changesQuery = (limit: number) =>
  queryOptions({
    queryKey: ["changes", "all", limit] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/changes", { params: { query: { limit } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: LIVE_MS,
  });

/** The server accepts this many resources per request. */
export const MOST_RESOURCES = 20;

/** Changes of resources, their workloads, and their nodes, in a window and the 10 min before it. */
export const resourceChangesQuery = (resource: readonly number[], { fromUs, toUs }: TimeView) => {
  // Whole minutes: a chart that follows the clock queries once a minute.
  const from = String(Math.floor((fromUs - BEFORE_US) / MINUTE_US) * MINUTE_US);
  const to = String(Math.ceil(toUs / MINUTE_US) * MINUTE_US);
  return queryOptions({
    queryKey: ["changes", resource, from, to] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/changes", { params: { query: { resource: [...resource], from, to, limit: MOST } }, signal })),
    placeholderData: keepPreviousData,
  });
};
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */
