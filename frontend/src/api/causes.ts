import { queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type CauseInfo = Schemas["CauseInfo"];

// The options are inferred on purpose: their type carries the key's and the data's.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const causesQuery = () =>
  queryOptions({
    queryKey: ["causes"] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/causes", { signal })),
    // They change with the version of the service only.
    staleTime: 600_000,
  });
