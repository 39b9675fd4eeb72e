/** The sections of Settings beside Collectors, and the scope that each needs. Pure. */

export const SECTIONS = [
  { id: "channels", title: "Notifications", about: "channels and their deliveries", scope: "channels:read" },
  { id: "mutes", title: "Mutes", about: "incidents that send no messages", scope: "incidents:read" },
  { id: "repositories", title: "Repositories", about: "files for pull requests", scope: "repositories:read" },
  { id: "members", title: "Members", about: "invitations and roles", scope: "members:read" },
  { id: "tokens", title: "API tokens", about: "for programs", scope: "tokens:read" },
  { id: "links", title: "Shared links", about: "read-only links to incidents", scope: "links:read" },
  { id: "limits", title: "Limits", about: "what the organization uses", scope: "organizations:read" },
  { id: "audit", title: "Audit trail", about: "who changed what", scope: "audit:read" },
  { id: "account", title: "Your account", about: "password, email address", scope: null },
] as const;

type Section = (typeof SECTIONS)[number];
export type SectionId = Section["id"];

/** Those that a member with these scopes can open. */
export const sectionsFor = (scopes: readonly string[]): readonly Section[] => SECTIONS.filter(({ scope }) => scope === null || scopes.includes(scope));
