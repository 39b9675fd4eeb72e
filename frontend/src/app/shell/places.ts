/** The places of the product and their pages. Pure. */

interface PlacePage {
  to: "/incidents" | "/risks" | "/fixes" | "/resources" | "/services" | "/dns" | "/startup" | "/explore/metrics" | "/compare";
  label: string;
  /** More words for the palette. */
  about?: string;
  /** Distinguishes two pages with the same address. */
  kind?: "node";
}

export interface Place {
  to: "/" | "/incidents" | "/resources" | "/evidence";
  label: string;
  about?: string;
  pages: readonly PlacePage[];
}

export const PLACES: readonly Place[] = [
  { to: "/", label: "Home", about: "what is wrong now, map of the fleet", pages: [] },
  {
    to: "/incidents",
    label: "Issues",
    pages: [
      { to: "/incidents", label: "Incidents" },
      { to: "/risks", label: "Risks" },
      { to: "/fixes", label: "Fixes", about: "calibration of predictions" },
    ],
  },
  {
    to: "/resources",
    label: "Explore",
    pages: [
      { to: "/resources", label: "Containers" },
      { to: "/services", label: "Services", about: "rate, latency, and stalls of every server" },
      { to: "/resources", label: "Nodes", kind: "node" },
      { to: "/dns", label: "DNS", about: "path, names, clients" },
      { to: "/startup", label: "Pod start", about: "phase by phase" },
      { to: "/explore/metrics", label: "Metrics", about: "from Prometheus, by name and label" },
      { to: "/compare", label: "Compare", about: "two windows, or two resources" },
    ],
  },
  { to: "/evidence", label: "Evidence", about: "files: captures, logs, load tests", pages: [] },
];

const isBelow = (pathname: string, to: string): boolean => pathname === to || pathname.startsWith(`${to}/`);

/** The place of an address; null: settings, help, and unknown addresses. */
export function placeOf(pathname: string): Place | null {
  return PLACES.find(({ to, pages }) => (to === "/" ? pathname === "/" : isBelow(pathname, to) || pages.some((page) => isBelow(pathname, page.to)))) ?? null;
}

/** Whether an address is that of a page. An incident or a resource is below one and has its own heading. */
export const isPage = (place: Place, pathname: string): boolean => place.pages.some((page) => page.to === pathname);

/** The current page; null if it has no tab of its own, such as a list of processes. */
export function pageOf(place: Place, pathname: string, kind: unknown): PlacePage | null {
  const wanted = pathname === "/resources" && kind !== "cgroup" ? kind : undefined;
  return place.pages.find((page) => page.to === pathname && page.kind === wanted) ?? null;
}
