/** Pull requests for fixes, and their repositories. */

import { keepPreviousData, queryOptions, useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";
import type { Incident } from "./incidents";

export type Repository = Schemas["Repository"];
export type RepositoryFile = Schemas["RepositoryFile-Output"];
export type NewRepository = Schemas["RepositoryRequest"];
export type RepositoryChange = Schemas["RepositoryUpdate"];
export type PullRequest = Schemas["PullRequest"];
export type FixPullRequest = Schemas["FixPullRequest"];
export type PullRequestForm = Schemas["PullRequestOptions"]["form"];
export type KustomizePatch = Schemas["KustomizePatch"];

const keys = {
  repositories: ["repositories"] as const,
  ofIncident: (id: number) => ["pullRequests", id] as const,
};

/** Whether manifests, Helm values, or a Corefile can contain the change. */
export const isInFiles = (fix: Schemas["Fix"]): boolean => fix.verdict !== "cannot_help" && fix.patches.some(({ changes }) => changes.length > 0);

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const repositoriesQuery = () =>
  queryOptions({ queryKey: keys.repositories, queryFn: ({ signal }) => unwrap(api.GET("/api/v1/repositories", { signal })) });

export const pullRequestsQuery = (incidentId: number) =>
  queryOptions({
    queryKey: keys.ofIncident(incidentId),
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/incidents/{incident_id}/pull-requests", { params: { path: { incident_id: incidentId } }, signal })),
    refetchInterval: (query) => ((query.state.data ?? []).some((one) => one.pull_request?.state === "open") ? 30_000 : false),
  });

/** Made again when a diagnosis has changed a patch. */
export const kustomizeQuery = ({ id, fixes }: Pick<Incident, "id" | "fixes">) =>
  queryOptions({
    queryKey: ["kustomize", id, fixes.flatMap(({ patches }) => patches.map(({ text }) => text))] as const,
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/incidents/{incident_id}/kustomize", { params: { path: { incident_id: id } }, signal })),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    enabled: fixes.some(isInFiles),
  });

export const pullRequestPreviewQuery = (incidentId: number, fixId: string, form: PullRequestForm) =>
  queryOptions({
    queryKey: [...keys.ofIncident(incidentId), "preview", fixId, form] as const,
    queryFn: ({ signal }) =>
      unwrap(
        api.POST("/api/v1/incidents/{incident_id}/fixes/{fix_id}/pull-request/preview", {
          params: { path: { incident_id: incidentId, fix_id: fixId } },
          body: { form },
          signal,
        }),
      ),
    // Generated from the current state of the branch.
    staleTime: 0,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
  });
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */

export function useOpenPullRequest(incidentId: number, fixId: string): UseMutationResult<PullRequest, Error, PullRequestForm> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (form) =>
      unwrap(api.POST("/api/v1/incidents/{incident_id}/fixes/{fix_id}/pull-request", { params: { path: { incident_id: incidentId, fix_id: fixId } }, body: { form } })),
    onSettled: () => client.invalidateQueries({ queryKey: keys.ofIncident(incidentId), exact: true }),
  });
}

function useChange<Given, Got>(change: (given: Given) => Promise<Got>): UseMutationResult<Got, Error, Given> {
  const client = useQueryClient();
  return useMutation({ mutationFn: change, onSettled: () => client.invalidateQueries({ queryKey: keys.repositories }) });
}

export const useCreateRepository = (): UseMutationResult<Repository, Error, NewRepository> => useChange((body) => unwrap(api.POST("/api/v1/repositories", { body })));

export const useUpdateRepository = (id: number): UseMutationResult<Repository, Error, RepositoryChange> =>
  useChange((body) => unwrap(api.PATCH("/api/v1/repositories/{repository_id}", { params: { path: { repository_id: id } }, body })));

export const useRemoveRepository = (id: number): UseMutationResult<unknown, Error, undefined> =>
  useChange(() => unwrap(api.DELETE("/api/v1/repositories/{repository_id}", { params: { path: { repository_id: id } } })));

export const useTestRepository = (id: number): UseMutationResult<Schemas["RepositoryTest"], Error, undefined> =>
  useChange(() => unwrap(api.POST("/api/v1/repositories/{repository_id}/test", { params: { path: { repository_id: id } } })));

/** "#12" on GitHub, "!12" on GitLab. */
export const numberOf = ({ kind, number }: Pick<PullRequest, "kind" | "number">): string => `${kind === "gitlab" ? "!" : "#"}${number}`;
