import type { MapCall, MapPlace, ServiceMap } from "@/api/services";

import { labelsOf, overlap } from "./labels";
import { along, columnsOf, layoutOf, type Box, type Layout } from "./layout";
import { levelsOf, type Ends } from "./levels";
import { moved } from "./moves";
import { callParts, labelTexts, leftOut, levelOf, placeNote, placeText, serviceText, worstShare } from "./words";

/** "ab": a calls b. */
const calls = (...pairs: string[]): Ends[] => pairs.map((pair) => ({ caller: pair.charAt(0), called: pair.charAt(1) }));
const idsOf = (found: readonly Ends[]): string[] => [...new Set(found.flatMap(({ caller, called }) => [caller, called]))];
const columns = (found: readonly Ends[], center: string | null = null): string[] => columnsOf(idsOf(found), found, levelsOf(idsOf(found), found, center)).map((column) => column.join(""));

const layout = (found: readonly Ends[], widthPx = 1400): Layout<Ends> => {
  const ids = idsOf(found);
  return layoutOf(columnsOf(ids, found, levelsOf(ids, found, null)), found, widthPx);
};

/** A gateway, `wide` services behind it, each with its own store, and one that all of them call. */
const shop = (wide: number): Ends[] =>
  Array.from({ length: wide }, (_, at) => [
    { caller: "gate", called: `service-${at}` },
    { caller: `service-${at}`, called: `store-${at}` },
    { caller: `service-${at}`, called: "dns" },
  ]).flat();

describe("the columns", () => {
  it("have callers left of what they call, as far right as the longest way", () => {
    expect(columns(calls("ab", "bc", "ac"))).toEqual(["a", "b", "c"]);
  });

  it("have a place that only calls next to what it calls", () => {
    expect(columns(calls("ab", "bc", "cd", "xd"))).toEqual(["a", "b", "cx", "d"]);
  });

  it("end where calls go in a circle or to the caller itself", () => {
    expect(columns(calls("ab", "bc", "ca", "bb"))).toEqual(["a", "b", "c"]);
    expect(columns(calls("ba", "ab", "xb"))).toEqual(["x", "b", "a"]);
  });

  it("are as many hops from the center as the calls", () => {
    expect(columns(calls("xa", "ab", "bc", "cd", "bz", "ac"), "b")).toEqual(["x", "a", "b", "cz", "d"]);
    expect(columns(calls("ab", "ba"), "b")).toEqual(["a", "b"]);
  });

  it("are ordered so that lines do not cross if they need not", () => {
    expect(columns(calls("ay", "bx", "az", "bw"))).toEqual(["ab", "yzxw"]);
    expect(columns([...calls("ax", "by", "cz"), ...calls("zp", "yq", "xr")])).toEqual(["abc", "xyz", "rqp"]);
  });

  it("are none without places", () => {
    expect(columns([])).toEqual([]);
    expect(layout([])).toMatchObject({ height: 0, lines: [] });
  });
});

describe("the layout", () => {
  it.each([3, 28])("has cards that do not overlap, with %i services", (wide) => {
    const { boxes, width, height } = layout(shop(wide));
    const cards = [...boxes.values()];
    expect(cards).toHaveLength(2 * wide + 2);
    expect(cards.flatMap((one, at) => cards.slice(at + 1).filter((other) => overlap(one, other)))).toEqual([]);
    expect(cards.every(({ x, y, ...box }) => x >= 0 && y >= 0 && x + box.width <= width && y + box.height <= height)).toBe(true);
  });

  it("fits its width if there is room, and is wider than that otherwise", () => {
    expect(layout(calls("ab", "bc"), 900).width).toBeLessThanOrEqual(900);
    expect(layout(calls("ab", "bc", "cd", "de", "ef"), 1000).width).toBeLessThanOrEqual(1000);
    expect(layout(calls("ab", "bc", "cd", "de", "ef"), 900).width).toBeGreaterThan(900);
  });

  it("is compact if a column is long", () => {
    expect([layout(shop(3)).compact, layout(shop(9)).compact]).toEqual([false, true]);
  });

  it("draws calls to the right, back, and within a column, but none to the caller itself", () => {
    const found = layout(calls("ab", "bc", "ca", "aa"));
    expect(found.lines.map(({ call, arrives }) => `${call.caller}${call.called} ${arrives}`)).toEqual(["ab right", "bc right", "ca left"]);
    const [b, c] = [found.boxes.get("b")!, found.boxes.get("c")!];
    const [start, , , end] = found.lines[1]!.points;
    expect([start.x, end.x]).toEqual([b.x + b.width, c.x]);
  });

  it("has the ends of lines at one card apart, in the order of their other ends", () => {
    const { lines } = layout(calls("ax", "bx", "cx"));
    const ends = lines.map(({ points }) => points[3].y);
    expect(ends).toEqual(ends.toSorted((one, other) => one - other));
    expect(new Set(ends).size).toBe(3);
  });

  it("knows the points of a curve", () => {
    const { points } = layout(calls("ab")).lines[0]!;
    expect([along(points, 0), along(points, 1)]).toEqual([points[0], points[3]]);
    expect(along(points, 0.5).x).toBeCloseTo((points[0].x + points[3].x) / 2);
  });
});

describe("labels", () => {
  it.each([3, 28])("cover no card and no other label, with %i services", (wide) => {
    const found = layout(shop(wide));
    const labels = labelsOf(found, () => ["p99 53 ms · 318/s", "53 ms"]);
    expect(labels.length).toBeGreaterThanOrEqual(wide);
    const boxes = [...found.boxes.values(), ...labels.map(({ box }) => box)];
    expect(labels.flatMap(({ box }) => boxes.filter((other) => other !== box && overlap(box, other)))).toEqual([]);
  });

  it("serve the first lines first, with the longest text that fits", () => {
    const found = layout(calls("ax", "bx"));
    expect(labelsOf(found, () => ["long text", "short"]).map(({ text }) => text)).toEqual(["long text", "long text"]);
    const unlimited = "no gap is as wide as this text".repeat(4);
    expect(labelsOf(found, ({ caller }) => (caller === "a" ? [unlimited, "short"] : [unlimited])).map(({ call, text }) => call.caller + text)).toEqual(["ashort"]);
  });
});

describe("arrow keys", () => {
  const card = (x: number, y: number): Box => ({ x, y, width: 100, height: 30 });
  const boxes = new Map([["a", card(0, 0)], ["b", card(0, 50)], ["x", card(200, 10)], ["y", card(200, 60)], ["z", card(400, 25)]]);

  it("lead to the nearest card in their direction", () => {
    expect([moved(boxes, "a", "ArrowDown"), moved(boxes, "b", "ArrowUp"), moved(boxes, "x", "ArrowRight")]).toEqual(["b", "a", "z"]);
    expect([moved(boxes, "x", "ArrowLeft"), moved(boxes, "y", "ArrowLeft"), moved(boxes, "z", "ArrowLeft"), moved(boxes, "b", "ArrowRight")]).toEqual(["a", "b", "x", "y"]);
    expect([moved(boxes, "z", "Home"), moved(boxes, "a", "End")]).toEqual(["a", "z"]);
  });

  it("lead nowhere from the edge, and other keys do not move", () => {
    expect([moved(boxes, "z", "ArrowRight"), moved(boxes, "a", "ArrowUp"), moved(boxes, "a", "Enter"), moved(boxes, "gone", "Home")]).toEqual([null, null, null, null]);
  });
});

const place = (id: string, more: Partial<MapPlace> = {}): MapPlace => ({
  id, kind: "workload", name: id, namespace: "shop", opens: { id: 1, kind: "tcp_server", key: id, name: id },
  node: { id: 2, kind: "node", key: "n", name: "node-1" }, members: 1, workloads: [], slow_ratio: null, throttled_ms_per_min: null, incidents: [], ...more,
});
const call = (caller: string, called: string, more: Partial<MapCall> = {}): MapCall => ({
  caller, called, protocol: "tcp", opens: { id: 1, kind: "tcp_server", key: called, name: called },
  services: [], calls_per_s: 318.4, slow_ratio: 0, p50_us: 900, p99_us: 53_292, max_us: 90_000, ...more,
});

describe("words", () => {
  it("say how bad a share of slow answers is", () => {
    expect([null, 0, 0.0099, 0.01].map((slow_ratio) => levelOf({ slow_ratio }))).toEqual(["unknown", "calm", "some", "slow"]);
  });

  it("mark a label by more than its color", () => {
    expect(labelTexts(call("a", "b"))).toEqual(["p99 53.3 ms · 318/s", "53.3 ms"]);
    expect(labelTexts(call("a", "b", { slow_ratio: 0.2, protocol: "dns" }))).toEqual(["▲ DNS p99 53.3 ms · 318/s", "▲ DNS 53.3 ms", "53.3 ms"]);
    expect(labelTexts(call("a", "b", { slow_ratio: null, p99_us: null }))).toEqual(["318/s"]);
  });

  it("tell a call's figures, and none that is not measured", () => {
    expect(callParts(call("a", "b", { slow_ratio: 0.2 }))).toEqual(["p50 900 µs", "p99 53.3 ms", "20 % over 20 ms", "318 calls/s"]);
    expect(callParts(call("a", "b", { protocol: "dns", slow_ratio: null, p50_us: null, p99_us: null }))).toEqual(["318 queries/s"]);
  });

  it("say what is wrong at a place, else where it is", () => {
    const incident: MapPlace["incidents"][number] = { id: 1, title: "Stalls", severity: "warning", state: "open" };
    expect(placeNote(place("web", { throttled_ms_per_min: 30, incidents: [incident] }))).toBe("1 active incident");
    expect(placeNote(place("web", { throttled_ms_per_min: 30 }))).toBe("throttled 30 ms/min");
    expect(placeNote(place("web", { throttled_ms_per_min: 0 }))).toBe("shop · node-1");
    expect(placeNote(place("web", { members: 3, node: null }))).toBe("shop · 3 containers");
    expect(placeNote(place("1.1.1.1:53", { kind: "address" }))).toBe("outside, or not known");
    expect(placeNote(place("stock", { kind: "service", members: 0, workloads: ["stock", "stock-canary"] }))).toBe("Service of stock, stock-canary");
    expect(placeNote(place("kubernetes", { kind: "service", namespace: "default" }))).toBe("Service in default, its pods are not known");
    expect(placeNote(place("Clients of x", { kind: "clients", members: 2 }))).toBe("2 addresses");
  });

  it("judge a place by its own servers and by the calls to it", () => {
    const all = [call("a", "b", { slow_ratio: 0.1 }), call("b", "c", { slow_ratio: 0.5 })];
    expect(worstShare(place("b", { slow_ratio: 0.02 }), all)).toEqual({ slow_ratio: 0.1 });
    expect(worstShare(place("a"), all)).toBeNull();
    expect(worstShare(place("b"), [call("a", "b", { slow_ratio: null })])).toEqual({ slow_ratio: null });
    expect(placeText(place("b", { slow_ratio: 0.02 }), all)).toBe("b, shop · node-1, 2 % of its answers over 20 ms, 1 caller, calls 1");
  });

  it("name the Services through which a workload was called", () => {
    expect(serviceText(call("a", "b"), place("b"))).toBeNull();
    expect(serviceText(call("a", "b", { services: ["shop/b", "shop/b-all"] }), place("b"))).toBe("Service shop/b, shop/b-all");
    expect(serviceText(call("a", "b", { services: ["shop/b"] }), place("b", { kind: "service" }))).toBeNull();
  });

  it("say what is left out", () => {
    const map: ServiceMap = { from_us: 0, to_us: 1, center: null, places: [place("a"), place("b")], calls: [call("a", "b")], places_found: 2, calls_found: 1, paths_seen: 1, paths_compared: 1 };
    expect(leftOut(map)).toBeNull();
    expect(leftOut({ ...map, calls_found: 3, places_found: 4 })).toBe("Shown: 1 of 3 calls, those with the most slow answers, between 2 of 4 places. Filter to see others.");
    expect(leftOut({ ...map, paths_compared: 1000, paths_seen: 1200 })).toBe("Made of the 1,000 most recently seen of 1,200 pairs of a caller and an address. Filter to see others.");
  });
});
