import { queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type CauseInfo = Schemas["CauseInfo"];

// The type of the options is inferred on purpose: it carries the types of the key and the data.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const causesQuery = () =>
  queryOptions({
    queryKey: ["causes"] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/causes", { signal })),
    // They change only with the version of the service.
    staleTime: 600_000,
  });
