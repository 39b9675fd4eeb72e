import { infiniteQueryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type Risk = Schemas["Risk"];

// The type of the options is inferred on purpose: it carries the types of the key and the data.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const risksQuery = (subject?: number) =>
  infiniteQueryOptions({
    queryKey: ["risks", subject ?? null] as const,
    queryFn: ({ pageParam, signal }) => unwrap(api.GET("/api/v1/risks", { params: { query: { cursor: pageParam, subject, limit: 50 } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
