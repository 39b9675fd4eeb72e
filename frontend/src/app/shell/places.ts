/** The places of the product and their pages. Pure. */

interface PlacePage {
  to: "/incidents" | "/risks" | "/fixes" | "/resources" | "/services" | "/dns" | "/startup" | "/explore/metrics" | "/compare";
  label: string;
  /** Distinguishes two pages with the same address. */
  kind?: "node";
}

export interface Place {
  to: "/" | "/incidents" | "/resources" | "/evidence";
  label: string;
  pages: readonly PlacePage[];
}

export const PLACES: readonly Place[] = [
  { to: "/", label: "Home", pages: [] },
  {
    to: "/incidents",
    label: "Issues",
    pages: [
      { to: "/incidents", label: "Incidents" },
      { to: "/risks", label: "Risks" },
      { to: "/fixes", label: "Fixes" },
    ],
  },
  {
    to: "/resources",
    label: "Explore",
    pages: [
      { to: "/resources", label: "Containers" },
      { to: "/services", label: "Services" },
      { to: "/resources", label: "Nodes", kind: "node" },
      { to: "/dns", label: "DNS" },
      { to: "/startup", label: "Pod start" },
      { to: "/explore/metrics", label: "Metrics" },
      { to: "/compare", label: "Compare" },
    ],
  },
  { to: "/evidence", label: "Evidence", pages: [] },
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
