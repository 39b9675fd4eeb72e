/** Every page as the command palette lists it: from the places, the sections of Settings, and a few views of them. Pure. */

import type { useNavigate } from "@tanstack/react-router";

import { sectionsFor } from "@/features/settings/sections";

import { PLACES, type Place } from "./places";

type Navigate = ReturnType<typeof useNavigate>;

export interface Destination {
  label: string;
  /** More words to find it by. */
  about?: string | undefined;
  open: (navigate: Navigate) => unknown;
}

const VIEWS: readonly Destination[] = [
  { label: "Issues: Muted incidents", open: (navigate) => navigate({ to: "/incidents", search: { muted: "yes" } }) },
  { label: "Help: Causes", open: (navigate) => navigate({ to: "/help/causes" }) },
  { label: "Settings: Collectors", about: "ingest tokens, what collectors read", open: (navigate) => navigate({ to: "/settings/collectors" }) },
];
const ADD: Destination = { label: "Add collector", about: "Linux, Compose, Kubernetes, Prometheus", open: (navigate) => navigate({ to: "/settings/collectors", search: { add: true } }) };

/** Those that a member with these scopes can open. */
export function destinationsFor(scopes: readonly string[]): Destination[] {
  const sections = sectionsFor(scopes).map(({ id, title, about }): Destination => ({ label: `Settings: ${title}`, about, open: (navigate) => navigate({ to: "/settings/$section", params: { section: id } }) }));
  return [...PLACES.flatMap(pagesOf), ...VIEWS, ...(scopes.includes("collectors:write") ? [ADD] : []), ...sections];
}

function pagesOf({ to, label, about, pages }: Place): Destination[] {
  if (pages.length === 0) return [{ label, about, open: (navigate) => navigate({ to }) }];
  return pages.map((page) => ({ label: `${label}: ${page.label}`, about: page.about, open: (navigate) => navigate({ to: page.to, search: { kind: page.kind } }) }));
}
