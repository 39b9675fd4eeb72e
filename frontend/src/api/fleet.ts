/** Every container by its worst 100 ms. */

import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type Fleet = Schemas["Fleet"];
export type FleetContainer = Schemas["FleetContainer"];

/** A look at a thousand containers: once a minute is often enough for figures of an hour. */
const LIVE_MS = 60_000;
/** Cells that a map can show and people can still tell apart. */
const MOST_CELLS = 400;

// The options are inferred on purpose: their type carries the key's and the data's.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const fleetQuery = () =>
  queryOptions({
    queryKey: ["fleet", "map"] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/fleet", { params: { query: { limit: MOST_CELLS } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: LIVE_MS,
  });
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */
