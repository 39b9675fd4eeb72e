/** Members, tokens, channels, and the audit trail. */

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, unwrap, type Schemas } from "./client";

export type Member = Schemas["Member"];
export type Role = Member["role"];
export const ROLES: readonly Role[] = ["viewer", "editor", "admin"];
export type TokenInfo = Schemas["TokenInfo"];
export type Channel = Schemas["Channel"];
export type Delivery = Schemas["Delivery"];
export type ChannelKind = Schemas["ChannelKindInfo"];
export type ChannelAction = ChannelKind["silent_actions"][number];
export type QuietHours = Schemas["QuietHours-Output"];
export type ChannelPreview = Schemas["ChannelPreview"];
/** The conditions that decide which messages a channel gets. */
export type ChannelFilter = Required<Pick<Schemas["ChannelPreviewRequest"], "min_severity" | "actions" | "conditions" | "quiet_hours">>;

export const settingsKeys = {
  members: ["members"] as const,
  invitations: ["invitations"] as const,
  tokens: ["tokens"] as const,
  channels: ["channels"] as const,
  limits: ["limits"] as const,
  deliveries: (channelId: number) => ["channels", channelId, "deliveries"] as const,
};

// The type of the options is inferred on purpose: it carries the types of the key and the data.
/* eslint-disable @typescript-eslint/explicit-module-boundary-types */
export const membersQuery = () =>
  queryOptions({ queryKey: settingsKeys.members, queryFn: ({ signal }) => unwrap(api.GET("/api/v1/members", { signal })) });

export const invitationsQuery = () =>
  queryOptions({ queryKey: settingsKeys.invitations, queryFn: ({ signal }) => unwrap(api.GET("/api/v1/members/invitations", { signal })) });

export const tokensQuery = () => queryOptions({ queryKey: settingsKeys.tokens, queryFn: ({ signal }) => unwrap(api.GET("/api/v1/tokens", { signal })) });

export const channelsQuery = () =>
  queryOptions({ queryKey: settingsKeys.channels, queryFn: ({ signal }) => unwrap(api.GET("/api/v1/channels", { signal })) });

export const channelKindsQuery = () =>
  queryOptions({ queryKey: ["channelKinds"] as const, queryFn: ({ signal }) => unwrap(api.GET("/api/v1/channels/kinds", { signal })), staleTime: 600_000 });

export const deliveriesQuery = (channelId: number) =>
  queryOptions({
    queryKey: settingsKeys.deliveries(channelId),
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/channels/{channel_id}/deliveries", { params: { path: { channel_id: channelId }, query: { limit: 20 } }, signal })),
  });

export const channelPreviewQuery = (channel: ChannelFilter & { kind: string | null }) =>
  queryOptions({
    queryKey: ["channelPreview", channel] as const,
    queryFn: ({ signal }) => unwrap(api.POST("/api/v1/channels/preview", { body: channel, signal })),
    staleTime: 30_000,
    retry: false,
  });

export const limitsQuery = () =>
  queryOptions({ queryKey: settingsKeys.limits, queryFn: ({ signal }) => unwrap(api.GET("/api/v1/organizations/current/limits", { signal })), refetchInterval: 15_000 });

export const auditQuery = () =>
  infiniteQueryOptions({
    queryKey: ["audit"] as const,
    queryFn: ({ pageParam, signal }) => unwrap(api.GET("/api/v1/audit", { params: { query: { cursor: pageParam, limit: 50 } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
/* eslint-enable @typescript-eslint/explicit-module-boundary-types */

/** Whether a token is still valid, judging by its own timestamps. */
export function isValid(token: TokenInfo): boolean {
  return token.revoked_at === null && (token.expires_at === null || new Date(token.expires_at) > new Date());
}
