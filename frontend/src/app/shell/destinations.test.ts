import { SECTIONS } from "@/features/settings/sections";

import { destinationsFor } from "./destinations";
import { PLACES } from "./places";

const ALL = [...new Set(SECTIONS.flatMap(({ scope }) => (scope === null ? [] : [scope]))), "collectors:write"];
const labels = (scopes: readonly string[]): string[] => destinationsFor(scopes).map(({ label }) => label);

/** Where it leads: what it passes to the router. */
function target(label: string): object {
  const navigate = vi.fn();
  destinationsFor(ALL)
    .find((one) => one.label === label)
    ?.open(navigate);
  return navigate.mock.lastCall?.[0] as object;
}

describe("the palette's destinations", () => {
  it("are every page and every section, each once", () => {
    const found = labels(ALL);
    expect(new Set(found).size).toBe(found.length);
    for (const { label, pages } of PLACES) for (const name of pages.length === 0 ? [label] : pages.map((page) => `${label}: ${page.label}`)) expect(found).toContain(name);
    for (const { title } of SECTIONS) expect(found).toContain(`Settings: ${title}`);
  });

  it("lead there", () => {
    expect(target("Explore: Nodes")).toEqual({ to: "/resources", search: { kind: "node" } });
    expect(target("Explore: Compare")).toMatchObject({ to: "/compare" });
    expect(target("Settings: Shared links")).toEqual({ to: "/settings/$section", params: { section: "links" } });
    expect(target("Add collector")).toEqual({ to: "/settings/collectors", search: { add: true } });
  });

  it("leave out what the role cannot open", () => {
    expect(labels([])).not.toContain("Settings: Audit trail");
    expect(labels([])).not.toContain("Add collector");
    expect(labels([])).toContain("Settings: Your account");
  });
});
