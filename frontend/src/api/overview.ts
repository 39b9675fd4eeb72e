/** What is wrong now, and applied fixes. */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type Overview = Schemas["Overview"];
export type AppliedFix = Schemas["AppliedFix"];

const LIVE_MS = 30_000;

export const overviewKeys = {
  all: ["overview"] as const,
  now: ["overview", "now"] as const,
  fixes: (only: AppliedFix["state"] | null) => ["overview", "fixes", only] as const,
};

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const overviewQuery = () =>
  queryOptions({
    queryKey: overviewKeys.now,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/overview", { params: { query: { worst: 4 } }, signal })),
    refetchInterval: LIVE_MS,
  });

/** Newest first; `only`: one state. */
export const fixesQuery = (only: AppliedFix["state"] | null) =>
  infiniteQueryOptions({
    queryKey: overviewKeys.fixes(only),
    queryFn: ({ pageParam, signal }) => unwrap(api.GET("/api/v1/fixes", { params: { query: { state: only === null ? undefined : [only], cursor: pageParam, limit: 20 } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */
