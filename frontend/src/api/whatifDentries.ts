/** What-if for the kernel's names: how long throwing so many away keeps a CPU. */

import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type DentryDrop = Schemas["DentryDrop"];

/** `negative`: that many names of what does not exist, and nothing else; null: all that the node holds. */
// The options are inferred on purpose: their type carries the key's and the data's.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const dentryDropQuery = (resourceId: number, toUs: number, negative: number | null) =>
  queryOptions({
    queryKey: ["whatif-dentries", resourceId, toUs, negative] as const,
    queryFn: ({ signal }) => unwrap(api.POST("/api/v1/whatif/dentries", { body: { resource_id: resourceId, to: toUs, negative_dentries: negative }, signal })),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 60_000,
  });
