/** What a role forbids, in words. Pure. */

import type { Me } from "@/api/me";

const EDITORS = "an editor or admin";
const ADMINS = "an admin";

/** What each scope permits, as the rest of "Your role cannot …", and who has it. */
const SCOPES = {
  "analyses:write": ["add or delete evidence files", EDITORS],
  "channels:write": ["change channels", ADMINS],
  "collectors:write": ["add collectors or revoke their tokens", EDITORS],
  "incidents:write": ["act on incidents", EDITORS],
  "links:write": ["create or revoke links", EDITORS],
  "members:write": ["change members", ADMINS],
  "organizations:write": ["change settings of the organization", ADMINS],
  "repositories:write": ["change repositories", ADMINS],
  "resources:write": ["set objectives", EDITORS],
  "shared_views:write": ["share views", EDITORS],
  "tokens:write": ["create or revoke API tokens", ADMINS],
  "views:write": ["save views", EDITORS],
} as const satisfies Record<string, readonly [what: string, whom: string]>;

export type Scope = keyof typeof SCOPES;

/** Why a user cannot do what a scope permits; null: allowed. */
export function refusalOf({ role, scopes, organization }: Me, scope: Scope): string | null {
  if (scopes.includes(scope)) return null;
  const [what, whom] = SCOPES[scope];
  return `${role === null ? "You" : `Your role, ${role},`} cannot ${what}. Ask ${whom} of ${organization.name}.`;
}
