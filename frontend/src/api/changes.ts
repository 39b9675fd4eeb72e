/** What was changed, as pipelines report it and as the history of facts shows it. */

import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { US_PER_S } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";

import { api, unwrap, type Schemas } from "./client";

export type Change = Schemas["Change"];
export type Changes = Schemas["Changes"];

/** A look at the facts of a thousand resources: once a minute is often enough. */
const LIVE_MS = 60_000;
const MINUTE_US = 60 * US_PER_S;
/** What came shortly before a picture belongs to it. */
const BEFORE_US = 10 * MINUTE_US;
const MOST = 200;

// The options are inferred on purpose: their type carries the key's and the data's.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
/** Of everything, in the last 24 h. */
export const changesQuery = (limit: number) =>
  queryOptions({
    queryKey: ["changes", "all", limit] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/changes", { params: { query: { limit } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: LIVE_MS,
  });

/** The server takes this many resources in one request. */
export const MOST_RESOURCES = 20;

/** Of resources, their workloads and their nodes: in a window, and in the 10 min before it. */
export const resourceChangesQuery = (resource: readonly number[], { fromUs, toUs }: TimeView) => {
  // Whole minutes: a picture that moves with the clock asks once a minute.
  const from = String(Math.floor((fromUs - BEFORE_US) / MINUTE_US) * MINUTE_US);
  const to = String(Math.ceil(toUs / MINUTE_US) * MINUTE_US);
  return queryOptions({
    queryKey: ["changes", resource, from, to] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/changes", { params: { query: { resource: [...resource], from, to, limit: MOST } }, signal })),
    placeholderData: keepPreviousData,
  });
};
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */
