import type { FleetContainer } from "@/api/fleet";

import { cellText, groupsOf, levelOf } from "./cells";

const NOW_US = Date.parse("2026-11-24T20:00:00Z") * 1000;

const container = (id: number, more: Partial<FleetContainer> = {}): FleetContainer => ({
  id,
  kind: "cgroup",
  key: `/kubepods/pod${id}/cart`,
  name: `shop/cart-${id}/cart`,
  node: { id: 1, kind: "node", key: "m", name: "node-1" },
  namespace: "shop",
  pod: `cart-${id}`,
  container: "cart",
  cpu_limit: 0.5,
  cpu_peak: 0.2,
  throttled_us: 0,
  worst_tick: null,
  ...more,
});

const tick = (throttled: number): FleetContainer["worst_tick"] => ({ at_us: NOW_US - 90_000_000, span_us: 100_000, throttled_us: throttled });

describe("the level of a cell", () => {
  it("goes by the worst tick first, then by the limit", () => {
    expect(levelOf(container(1, { worst_tick: tick(50_000) }))).toBe("heavy");
    expect(levelOf(container(1, { worst_tick: tick(49_999), cpu_peak: 9 }))).toBe("light");
    expect(levelOf(container(1, { cpu_peak: 0.4 }))).toBe("near");
    expect(levelOf(container(1, { cpu_peak: 0.39 }))).toBe("calm");
    expect(levelOf(container(1, { cpu_peak: 9, cpu_limit: null }))).toBe("calm");
  });

  it("never treats missing measurements as calm", () => {
    expect(levelOf(container(1, { cpu_peak: null, throttled_us: null }))).toBe("unknown");
  });
});

describe("a cell in words", () => {
  it("names the container, how bad, and when", () => {
    expect(cellText(container(1, { worst_tick: tick(42_000) }), NOW_US)).toBe("cart-1, shop · cart on node-1: throttled 42 ms in its worst tick, 19:58:30.0");
    expect(cellText(container(1, { cpu_peak: 0.4 }), NOW_US)).toBe("cart-1, shop · cart on node-1: highest 100 ms 0.4 CPU, 80 % of its limit of 0.5 CPU");
    expect(cellText(container(1, { cpu_peak: 0.4, cpu_limit: null, throttled_us: null }), NOW_US)).toBe("cart-1, shop · cart on node-1: highest 100 ms 0.4 CPU, no limit known; throttling not measured");
    expect(cellText(container(1, { cpu_peak: null }), NOW_US)).toBe("cart-1, shop · cart on node-1: CPU not measured");
  });
});

describe("groups", () => {
  const far = { id: 2, kind: "node" as const, key: "n", name: "node-1" };
  const all = [container(3), container(1, { namespace: null, node: far }), container(2, { namespace: "a" })];

  it("keep two nodes with the same name apart, with containers sorted by name", () => {
    expect(groupsOf(all, "node").map(({ name, containers }) => [name, containers.map(({ id }) => id)])).toEqual([["node-1", [2, 3]], ["node-1", [1]]]);
  });

  it("have containers without a namespace last", () => {
    expect(groupsOf(all, "namespace").map(({ name }) => name)).toEqual(["a", "shop", "No namespace"]);
  });

  it("do not move with the figures", () => {
    const worse = all.map((one) => ({ ...one, worst_tick: one.id === 3 ? tick(90_000) : null })).toReversed();
    expect(groupsOf(worse, "node").map(({ containers }) => containers.map(({ id }) => id))).toEqual([[2, 3], [1]]);
  });
});
