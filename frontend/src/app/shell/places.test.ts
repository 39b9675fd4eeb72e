import { isPage, pageOf, placeOf, PLACES } from "./places";

const open = (pathname: string, kind?: string): string => {
  const place = placeOf(pathname);
  return place === null ? "none" : [place.label, pageOf(place, pathname, kind)?.label].filter(Boolean).join(" > ");
};

describe("places", () => {
  it("hold every page once", () => {
    const pages = PLACES.flatMap(({ pages: own }) => own.map(({ to, kind }) => `${to}${kind ?? ""}`));
    expect(new Set(pages).size).toBe(pages.length);
    for (const { to, label, kind } of PLACES.flatMap(({ pages: own }) => own)) expect(open(to, kind)).toMatch(new RegExp(` > ${label}$`));
  });

  it("follow from the address", () => {
    expect(open("/")).toBe("Home");
    expect(open("/risks")).toBe("Issues > Risks");
    expect(open("/resources", "node")).toBe("Explore > Nodes");
    expect(open("/resources", "cgroup")).toBe("Explore > Containers");
    // A list without a tab of its own, within a place that has tabs.
    expect(open("/resources", "process")).toBe("Explore");
    expect(PLACES.map((place) => isPage(place, "/resources"))).toEqual([false, false, true, false]);
    // An address below a page belongs to the page's place, but is none of its pages.
    expect(open("/incidents/7")).toBe("Issues");
    expect(open("/resources/7")).toBe("Explore");
    expect(PLACES.some((place) => isPage(place, "/resources/7"))).toBe(false);
    expect(open("/evidence/7")).toBe("Evidence");
    expect(open("/settings/collectors")).toBe("none");
    expect(open("/incidentsx")).toBe("none");
  });
});
