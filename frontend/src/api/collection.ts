/** What collectors may read from the organization's traffic. */

import { queryOptions, useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type Collection = Schemas["Collection"];

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const collectionQuery = () => queryOptions({ queryKey: ["collection"] as const, queryFn: ({ signal }) => unwrap(api.GET("/api/v1/collection", { signal })) });
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */

/** Switches off the named items and all others on. */
export function useSwitchOff(): UseMutationResult<Collection, Error, readonly string[]> {
  const client = useQueryClient();
  const { queryKey } = collectionQuery();
  return useMutation({
    mutationFn: (off) => unwrap(api.PUT("/api/v1/collection", { body: { off: [...off] } })),
    onSuccess: (answer) => client.setQueryData(queryKey, answer),
    onSettled: () => client.invalidateQueries({ queryKey }),
  });
}
