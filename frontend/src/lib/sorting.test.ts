import { describe, expect, it } from "vitest";

import { sorting, type Sorted } from "./sorting";

type Order = "name" | "p99" | "slow";
const { isDescending, sortedBy } = sorting<Order>("slow", ["name"]);

describe("the order in the URL", () => {
  it("starts figures with the highest and names with A", () => {
    expect([isDescending({}), isDescending({ order: "p99" }), isDescending({ order: "name" })]).toEqual([true, true, false]);
  });

  it("reverses on the second click and back on the third", () => {
    const once = sortedBy<Sorted<Order> & { q: string }>({ q: "web" }, "p99");
    const twice = sortedBy(once, "p99");
    expect(once).toEqual({ q: "web", order: "p99", direction: undefined });
    expect([isDescending(once), isDescending(twice), isDescending(sortedBy(twice, "p99"))]).toEqual([true, false, true]);
    expect(sortedBy(twice, "name")).toMatchObject({ order: "name", direction: undefined });
  });

  it("leaves the default order out of the URL", () => {
    expect(sortedBy({ order: "p99" }, "slow")).toEqual({ order: undefined, direction: undefined });
    expect([isDescending(sortedBy({}, "slow")), isDescending(sortedBy(sortedBy({}, "slow"), "slow"))]).toEqual([false, true]);
  });
});
