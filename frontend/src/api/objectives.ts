/** Latency objectives of servers and their workloads. */

import { queryOptions, useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type Objective = Schemas["ResourceObjective"];

const KEY = ["objective"] as const;

// The type of the options is inferred on purpose: it carries the types of the key and the data.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const objectiveQuery = (id: number) =>
  queryOptions({
    queryKey: [...KEY, id] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/resources/{resource_id}/objective", { params: { path: { resource_id: id } }, signal })),
  });

/** Sets the objective of a resource; null removes it. */
export function useSetObjective(id: number): UseMutationResult<Objective, Error, string | null> {
  const client = useQueryClient();
  const params = { path: { resource_id: id } };
  return useMutation({
    mutationFn: (objective) =>
      objective === null
        ? unwrap(api.DELETE("/api/v1/resources/{resource_id}/objective", { params }))
        : unwrap(api.PUT("/api/v1/resources/{resource_id}/objective", { params, body: { objective } })),
    // An objective set for a workload applies to all its servers.
    onSettled: () => Promise.all([client.invalidateQueries({ queryKey: KEY }), client.invalidateQueries({ queryKey: ["services"] })]),
  });
}
