import { createRootRouteWithContext, createRoute, createRouter, Outlet, redirect } from "@tanstack/react-router";
import type { QueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";

import { queryClient } from "@/api/queryClient";
import { meQuery } from "@/api/me";
import { ApiError } from "@/api/problem";
import { AcceptPage } from "@/features/auth/AcceptPage";
import { SignInPage } from "@/features/auth/SignInPage";
import { CausesPage } from "@/features/causes/CausesPage";
import { CollectorsPage } from "@/features/collectors/CollectorsPage";
import { IncidentListPage } from "@/features/incidents/IncidentListPage";
import { IncidentPage } from "@/features/incidents/IncidentPage";
import { incidentSearch } from "@/features/incidents/search";
import { ResourceListPage } from "@/features/resources/ResourceListPage";
import { ResourcePage } from "@/features/resources/ResourcePage";
import { resourceListSearch, resourceSearch } from "@/features/resources/search";
import { RisksPage } from "@/features/risks/RisksPage";
import { SettingsPage } from "@/features/settings/SettingsPage";
import { optionalString, pictureSearch } from "@/lib/search";

import { Failed, NotFound } from "./Fallbacks";
import { Shell } from "./shell/Shell";

const root = createRootRouteWithContext<{ client: QueryClient }>()({ component: Outlet, notFoundComponent: NotFound });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  component: SignInPage,
  validateSearch: (search: Record<string, unknown>): { next?: string | undefined } => ({ next: localPath(search["next"]) }),
});

const accept = createRoute({ getParentRoute: () => root, path: "/accept", component: AcceptPage });

/** Everything below needs somebody signed in. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    try {
      await context.client.query({ ...meQuery(), staleTime: "static" });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) throw redirect({ to: "/sign-in", search: { next: location.href } });
      throw error;
    }
  },
});

const home = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/incidents", replace: true });
  },
});

const incidents = createRoute({ getParentRoute: () => signedIn, path: "incidents", component: IncidentListPage, validateSearch: incidentSearch });
const incident = createRoute({
  getParentRoute: () => signedIn,
  path: "incidents/$incidentId",
  component: IncidentPage,
  params: { parse: ({ incidentId }) => ({ incidentId: Number(incidentId) }), stringify: ({ incidentId }) => ({ incidentId: String(incidentId) }) },
  validateSearch: pictureSearch,
});
const risks = createRoute({ getParentRoute: () => signedIn, path: "risks", component: RisksPage });
const resources = createRoute({ getParentRoute: () => signedIn, path: "resources", component: ResourceListPage, validateSearch: resourceListSearch });
const resource = createRoute({
  getParentRoute: () => signedIn,
  path: "resources/$resourceId",
  component: ResourcePage,
  params: { parse: ({ resourceId }) => ({ resourceId: Number(resourceId) }), stringify: ({ resourceId }) => ({ resourceId: String(resourceId) }) },
  validateSearch: resourceSearch,
});
const causes = createRoute({
  getParentRoute: () => signedIn,
  path: "causes",
  component: CausesPage,
  validateSearch: (search: Record<string, unknown>): { cause?: string | undefined } => ({ cause: optionalString(search["cause"]) }),
});
const collectors = createRoute({
  getParentRoute: () => signedIn,
  path: "collectors",
  component: CollectorsPage,
  validateSearch: (search: Record<string, unknown>): { add?: true } => (search["add"] === true || search["add"] === "true" ? { add: true } : {}),
});
const settings = createRoute({
  getParentRoute: () => signedIn,
  path: "settings",
  beforeLoad: () => {
    throw redirect({ to: "/settings/$section", params: { section: "channels" }, replace: true });
  },
});
const settingsSection = createRoute({ getParentRoute: () => signedIn, path: "settings/$section", component: SettingsPage });

const routeTree = root.addChildren([
  signIn,
  accept,
  signedIn.addChildren([home, incidents, incident, risks, resources, resource, causes, collectors, settings, settingsSection]),
]);

export const router = createRouter({
  routeTree,
  context: { client: queryClient },
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultErrorComponent: Failed,
  defaultPendingComponent: Pending,
  // No spinner for what is there within 200 ms.
  defaultPendingMs: 400,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

function Pending(): ReactElement {
  return <p className="visually-hidden">Loading</p>;
}

/** Only paths of this site: a link to the sign-in page must not lead elsewhere. */
function localPath(value: unknown): string | undefined {
  const path = optionalString(value);
  return path?.startsWith("/") === true && !path.startsWith("//") && !path.startsWith("/\\") ? path : undefined;
}
