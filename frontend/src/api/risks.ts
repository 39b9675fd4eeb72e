import { infiniteQueryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type Risk = Schemas["Risk"];

/** `own`: those of Jitterscope itself, instead of all others. */
// The type of the options is inferred on purpose: it carries the types of the key and the data.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const risksQuery = ({ subject, own }: { subject?: number; own?: boolean } = {}) =>
  infiniteQueryOptions({
    queryKey: ["risks", subject ?? null, own ?? false] as const,
    queryFn: ({ pageParam, signal }) => unwrap(api.GET("/api/v1/risks", { params: { query: { cursor: pageParam, subject, own, limit: 50 } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
