import { createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent, Outlet, redirect } from "@tanstack/react-router";
import { noop, type QueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";

import { queryClient } from "@/api/queryClient";
import { meQuery } from "@/api/me";
import { ApiError } from "@/api/problem";
import { setupsQuery } from "@/api/setups";
import { compareSearch } from "@/features/compare/search";
import { dnsSearch } from "@/features/dns/search";
import { homeSearch } from "@/features/home/search";
import { incidentPageSearch, incidentSearch } from "@/features/incidents/search";
import { metricsSearch } from "@/features/metrics/search";
import { resourceListSearch, resourceSearch } from "@/features/resources/search";
import { servicesSearch } from "@/features/services/search";
import { startupSearch } from "@/features/startup/search";
import { optionalNumber, optionalString, pictureSearch } from "@/lib/search";

import { Failed } from "./Failed";
import { NotFound } from "./NotFound";
import { Shell } from "./shell/Shell";

// Each page is its own chunk, loaded when its link is hovered or opened.
const root = createRootRouteWithContext<{ client: QueryClient }>()({ component: Outlet });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  component: lazyRouteComponent(() => import("@/features/auth/SignInPage"), "SignInPage"),
  validateSearch: (search: Record<string, unknown>): { next?: string | undefined; organization?: number | undefined } => ({
    next: localPath(search["next"]),
    organization: optionalNumber(search["organization"]),
  }),
});

const accept = createRoute({ getParentRoute: () => root, path: "/accept", component: lazyRouteComponent(() => import("@/features/auth/AcceptPage"), "AcceptPage") });

/** Outside the shell: the link in a verification email, for signed-in users. */
const verify = createRoute({ getParentRoute: () => root, path: "/verify", component: lazyRouteComponent(() => import("@/features/auth/VerifyPage"), "VerifyPage") });

/** Outside the shell, for people without an account: a link to one incident. */
const shared = createRoute({
  getParentRoute: () => root,
  path: "/shared",
  component: lazyRouteComponent(() => import("@/features/incidents/sharing/SharedIncidentPage"), "SharedIncidentPage"),
  validateSearch: pictureSearch,
});

/** Everything below requires a session. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    try {
      await context.client.query({ ...meQuery(), staleTime: "static" });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        // The part after # can be a link's secret: it stays there, where no server sees it.
        throw redirect({ to: "/sign-in", search: { next: `${location.pathname}${location.searchStr}` }, hash: location.hash });
      }
      throw error;
    }
  },
});

const home = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  component: lazyRouteComponent(() => import("@/features/home/HomePage"), "HomePage"),
  validateSearch: homeSearch,
});

const incidents = createRoute({
  getParentRoute: () => signedIn,
  path: "incidents",
  component: lazyRouteComponent(() => import("@/features/incidents/IncidentListPage"), "IncidentListPage"),
  validateSearch: incidentSearch,
});
const incident = createRoute({
  getParentRoute: () => signedIn,
  path: "incidents/$incidentId",
  component: lazyRouteComponent(() => import("@/features/incidents/IncidentPage"), "IncidentPage"),
  params: { parse: ({ incidentId }) => ({ incidentId: Number(incidentId) }), stringify: ({ incidentId }) => ({ incidentId: String(incidentId) }) },
  validateSearch: incidentPageSearch,
});
const fixes = createRoute({
  getParentRoute: () => signedIn,
  path: "fixes",
  component: lazyRouteComponent(() => import("@/features/calibration/FixesPage"), "FixesPage"),
});
const risks = createRoute({
  getParentRoute: () => signedIn,
  path: "risks",
  component: lazyRouteComponent(() => import("@/features/risks/RisksPage"), "RisksPage"),
  validateSearch: (search: Record<string, unknown>): { open?: number | undefined } => ({ open: optionalNumber(search["open"]) }),
});
const resources = createRoute({
  getParentRoute: () => signedIn,
  path: "resources",
  component: lazyRouteComponent(() => import("@/features/resources/ResourceListPage"), "ResourceListPage"),
  validateSearch: resourceListSearch,
});
const resource = createRoute({
  getParentRoute: () => signedIn,
  path: "resources/$resourceId",
  component: lazyRouteComponent(() => import("@/features/resources/ResourcePage"), "ResourcePage"),
  params: { parse: ({ resourceId }) => ({ resourceId: Number(resourceId) }), stringify: ({ resourceId }) => ({ resourceId: String(resourceId) }) },
  validateSearch: resourceSearch,
});
const compare = createRoute({
  getParentRoute: () => signedIn,
  path: "compare",
  component: lazyRouteComponent(() => import("@/features/compare/ComparePage"), "ComparePage"),
  validateSearch: compareSearch,
});
const causes = createRoute({
  getParentRoute: () => signedIn,
  path: "help/causes",
  component: lazyRouteComponent(() => import("@/features/causes/CausesPage"), "CausesPage"),
  validateSearch: causeSearch,
});
const dns = createRoute({
  getParentRoute: () => signedIn,
  path: "dns",
  component: lazyRouteComponent(() => import("@/features/dns/DnsPage"), "DnsPage"),
  validateSearch: dnsSearch,
});
const services = createRoute({
  getParentRoute: () => signedIn,
  path: "services",
  component: lazyRouteComponent(() => import("@/features/services/ServicesPage"), "ServicesPage"),
  validateSearch: servicesSearch,
});
const metrics = createRoute({
  getParentRoute: () => signedIn,
  path: "explore/metrics",
  component: lazyRouteComponent(() => import("@/features/metrics/MetricsPage"), "MetricsPage"),
  validateSearch: metricsSearch,
});
const startup = createRoute({
  getParentRoute: () => signedIn,
  path: "startup",
  component: lazyRouteComponent(() => import("@/features/startup/StartupPage"), "StartupPage"),
  validateSearch: startupSearch,
});
const collectors = createRoute({
  getParentRoute: () => signedIn,
  path: "settings/collectors",
  component: lazyRouteComponent(() => import("@/features/collectors/CollectorsPage"), "CollectorsPage"),
  validateSearch: addSearch,
  // Loaded before the form is shown: on a phone the choice of senders wraps, and would push the form down later.
  loaderDeps: ({ search: { add } }) => ({ add }),
  loader: ({ context: { client }, deps: { add } }) => (add === true ? client.query(setupsQuery()).catch(noop) : undefined),
});
const evidence = createRoute({
  getParentRoute: () => signedIn,
  path: "evidence",
  component: lazyRouteComponent(() => import("@/features/evidence/EvidencePage"), "EvidencePage"),
});
const analysis = createRoute({
  getParentRoute: () => signedIn,
  path: "evidence/$analysisId",
  component: lazyRouteComponent(() => import("@/features/evidence/AnalysisPage"), "AnalysisPage"),
  params: { parse: ({ analysisId }) => ({ analysisId: Number(analysisId) }), stringify: ({ analysisId }) => ({ analysisId: String(analysisId) }) },
});
const settings = createRoute({
  getParentRoute: () => signedIn,
  path: "settings",
  beforeLoad: () => {
    throw redirect({ to: "/settings/$section", params: { section: "channels" }, replace: true });
  },
});
const settingsSection = createRoute({ getParentRoute: () => signedIn, path: "settings/$section", component: lazyRouteComponent(() => import("@/features/settings/SettingsPage"), "SettingsPage") });

/** Within the shell, so that its places and its search are there. */
const unknown = createRoute({ getParentRoute: () => signedIn, path: "$", component: NotFound });

/** Redirects for old and guessed addresses, with their search parameters. */
const movedCollectors = createRoute({ getParentRoute: () => signedIn, path: "collectors", validateSearch: addSearch, beforeLoad: ({ search, location: { hash } }) => { throw redirect({ to: "/settings/collectors", search, hash, replace: true }); } });
const movedCauses = createRoute({ getParentRoute: () => signedIn, path: "causes", validateSearch: causeSearch, beforeLoad: ({ search, location: { hash } }) => { throw redirect({ to: "/help/causes", search, hash, replace: true }); } });
const movedCalibration = createRoute({ getParentRoute: () => signedIn, path: "calibration", beforeLoad: ({ location: { hash } }) => { throw redirect({ to: "/fixes", hash, replace: true }); } });
const issues = createRoute({ getParentRoute: () => signedIn, path: "issues", validateSearch: incidentSearch, beforeLoad: ({ search, location: { hash } }) => { throw redirect({ to: "/incidents", search, hash, replace: true }); } });
const explore = createRoute({ getParentRoute: () => signedIn, path: "explore", validateSearch: resourceListSearch, beforeLoad: ({ search, location: { hash } }) => { throw redirect({ to: "/resources", search, hash, replace: true }); } });
const help = createRoute({ getParentRoute: () => signedIn, path: "help", beforeLoad: ({ location: { hash } }) => { throw redirect({ to: "/help/causes", hash, replace: true }); } });

const routeTree = root.addChildren([
  signIn,
  accept,
  verify,
  shared,
  signedIn.addChildren([home, incidents, incident, risks, fixes, resources, resource, compare, services, dns, metrics, startup, causes, collectors, evidence, analysis, settings, settingsSection, movedCollectors, movedCauses, movedCalibration, issues, explore, help, unknown]),
]);

export const router = createRouter({
  routeTree,
  context: { client: queryClient },
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultErrorComponent: Failed,
  defaultPendingComponent: Pending,
  // No spinner for anything that loads within 200 ms.
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

function causeSearch(search: Record<string, unknown>): { cause?: string | undefined } {
  return { cause: optionalString(search["cause"]) };
}

function addSearch(search: Record<string, unknown>): { add?: true } {
  return search["add"] === true || search["add"] === "true" ? { add: true } : {};
}

/** Only paths of this site: a link to the sign-in page must not lead elsewhere. */
function localPath(value: unknown): string | undefined {
  const path = optionalString(value);
  return path?.startsWith("/") === true && !path.startsWith("//") && !path.startsWith("/\\") ? path : undefined;
}
