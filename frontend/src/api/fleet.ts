/** Every container by its worst 100 ms. */

import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type Fleet = Schemas["Fleet"];
export type FleetContainer = Schemas["FleetContainer"];

/** Reads a thousand containers; once a minute is enough for figures of an hour. */
const LIVE_MS = 60_000;
/** Maximum cells of a map that can still be told apart. */
const MOST_CELLS = 400;

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const fleetQuery = () =>
  queryOptions({
    queryKey: ["fleet", "map"] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/fleet", { params: { query: { limit: MOST_CELLS } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: LIVE_MS,
  });
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */
