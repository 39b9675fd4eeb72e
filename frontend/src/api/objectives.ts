/** Latency objectives of servers and of the workloads that they belong to. */

import { queryOptions, useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type Objective = Schemas["ResourceObjective"];

const KEY = ["objective"] as const;

// The options are inferred on purpose: their type carries the key's and the data's.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const objectiveQuery = (id: number) =>
  queryOptions({
    queryKey: [...KEY, id] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/resources/{resource_id}/objective", { params: { path: { resource_id: id } }, signal })),
  });

/** Sets the objective of a resource; null takes back what was set for it. */
export function useSetObjective(id: number): UseMutationResult<Objective, Error, string | null> {
  const client = useQueryClient();
  const params = { path: { resource_id: id } };
  return useMutation({
    mutationFn: (objective) =>
      objective === null
        ? unwrap(api.DELETE("/api/v1/resources/{resource_id}/objective", { params }))
        : unwrap(api.PUT("/api/v1/resources/{resource_id}/objective", { params, body: { objective } })),
    // One that is set for a workload holds for all its servers.
    onSettled: () => Promise.all([client.invalidateQueries({ queryKey: KEY }), client.invalidateQueries({ queryKey: ["services"] })]),
  });
}
