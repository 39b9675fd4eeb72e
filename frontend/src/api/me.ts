/** The signed-in user, sign-in, and sign-out. */

import { queryOptions, useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";
import { ApiError } from "./problem";

export type Me = Schemas["Me"];

// The type of the options is inferred on purpose: it carries the types of the key and the data.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const meQuery = () =>
  queryOptions({
    queryKey: ["me"] as const,
    queryFn: async ({ signal }) => {
      // Not `/me`: its 401 would show up in the console of every user who is about to sign in.
      const me = await unwrap(api.GET("/api/v1/auth/session", { signal }));
      if (me === null) throw new ApiError(401, { title: "Not signed in", detail: "Sign in to continue." });
      return me;
    },
    staleTime: 60_000,
  });

export interface Credentials {
  email: string;
  password: string;
  /** Which organization's account: an address can have several. */
  organization?: number | undefined;
}

export function useSignIn(): UseMutationResult<Me, Error, Credentials> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ email, password, organization }) =>
      unwrap(api.POST("/api/v1/auth/login", { body: { email, password, organization_id: organization ?? null } })),
    onSuccess: (me) => {
      client.clear();
      client.setQueryData(meQuery().queryKey, me);
    },
  });
}

export interface Acceptance {
  token: string;
  /** For a new account; without them, the signed-in user joins. */
  name?: string;
  password?: string;
}

// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const invitationQuery = (token: string) =>
  queryOptions({
    queryKey: ["invitation", token] as const,
    queryFn: ({ signal }) => unwrap(api.POST("/api/v1/auth/invitation", { body: { token }, signal })),
    enabled: token !== "",
    retry: false,
  });

export function useAcceptInvitation(): UseMutationResult<Me, Error, Acceptance> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ token, name = "New member", password }) => unwrap(api.POST("/api/v1/auth/accept", { body: { token, name, password: password ?? null } })),
    onSuccess: (me) => {
      client.clear();
      client.setQueryData(meQuery().queryKey, me);
    },
  });
}

export function useSignOut(): UseMutationResult {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/auth/logout")),
    onSuccess: () => client.clear(),
  });
}

export function useSwitchOrganization(): UseMutationResult<Me, Error, number> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (organization_id) => unwrap(api.POST("/api/v1/auth/switch", { body: { organization_id } })),
    onSuccess: (me) => {
      client.clear();
      client.setQueryData(meQuery().queryKey, me);
    },
  });
}
