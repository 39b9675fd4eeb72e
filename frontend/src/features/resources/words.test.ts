import { namesOf, shortPath, tickSearch, tickTime } from "@/lib/container";

import { resourceListSearch } from "./search";
import { errorsText, grpcText, peaksText, throttledText } from "./words";

const ID = "3f2a9c0d11e84b6f9a70c1d2e3f4a5b6c7d8e9f00112233445566778899aabbc";

describe("names of containers", () => {
  it("are pod names, never hashes", () => {
    expect(namesOf({ key: `/kubepods/burstable/pod1/${ID}`, namespace: "shop", pod: "cart-5d8", container: "cart" })).toEqual({ main: "cart-5d8", detail: "shop · cart" });
    expect(namesOf({ key: `/docker/${ID}`, namespace: null, pod: null, container: "nginx" })).toEqual({ main: "nginx", detail: "/docker/3f2a9c0d11e8…" });
    expect(namesOf({ key: `/docker/${ID}`, namespace: null, pod: null, container: null })).toEqual({ main: "3f2a9c0d11e8…", detail: "docker" });
  });

  it("shorten a pod's UID, however its parts are joined", () => {
    expect(shortPath("/kubepods.slice/kubepods-pod0a1b2c3d_1111_2222_3333_0123456789ab.slice")).toBe("/kubepods.slice/kubepods-pod0a1b2c3d….slice");
  });
});

describe("the explorer in the URL", () => {
  it("is validated", () => {
    expect(resourceListSearch({ order: "peak", direction: "up", minutes: "360", from: "10", to: "20", zone: "utc", every: "true" })).toMatchObject({ order: "peak", direction: "up", minutes: 360, from: 10, to: 20, zone: "utc", every: true });
    expect(resourceListSearch({ order: "color", direction: "left", minutes: 7, from: 20, to: 10, zone: "mars" })).toEqual({});
    expect(resourceListSearch({ from: 10 })).toEqual({});
  });

});

describe("figures of a container", () => {
  it("say the highest 100 ms and how often it was throttled", () => {
    const item = { peaks: [null, 0.2, 0.71], throttled: [false, false, true], cpu_limit: 0.5 };
    expect(peaksText(item, 0, 60_000_000, "utc")).toBe("Highest 100 ms 0.71 CPU at 00:02, limit 0.5 CPU; throttled in 1 of 2 minutes");
    expect(peaksText({ ...item, throttled: [], cpu_limit: null }, 0, 960_000_000, "utc")).toBe("Highest 100 ms 0.71 CPU at 00:32; not throttled");
    expect(peaksText({ ...item, peaks: [null] }, 0, 60_000_000, "utc")).toBe("No CPU usage recorded");
  });

  it("distinguish not measured from none", () => {
    expect(throttledText({ throttled_us: null, throttled_ratio: null })).toBe("–");
    expect(throttledText({ throttled_us: 0, throttled_ratio: 0 })).toBe("0 ms");
    expect(throttledText({ throttled_us: 110_000, throttled_ratio: 0.025 })).toBe("110 ms, 2.5 % of periods");
  });

  it("lead to the tick", () => {
    const tick = { at_us: 1_000_000_000_000, span_us: 100_000, throttled_us: 50_000 };
    expect(tickSearch(tick)).toEqual({ minutes: 5, to: 1_000_150_000_000, view: "999997500000-1000002600000", sel: "1000000000000-1000000100000" });
    expect(tickTime(tick, 1_000_000_000_000, "utc")).toBe("13:46:40.0");
    expect(tickTime(tick, 1_100_000_000_000, "utc")).toBe("1970-01-12 13:46:40.0");
    expect(tickSearch({ ...tick, span_us: 60_000_000 }).sel).toBeUndefined();
  });
});

describe("errors of a kind of requests", () => {
  it("are named by their code in gRPC", () => {
    const statuses = [
      { code: 14, name: "UNAVAILABLE", ratio: 0.2 },
      { code: 5, name: "NOT_FOUND", ratio: 0.05 },
      { code: 3, name: "INVALID_ARGUMENT", ratio: 0.01 },
    ];
    expect(grpcText(statuses)).toBe("gRPC 14 UNAVAILABLE 20 %, 5 NOT_FOUND 5 %, 3 INVALID_ARGUMENT 1 %");
    expect(grpcText(statuses, 1)).toBe("gRPC 14 UNAVAILABLE 20 %, 2 others");
    expect(grpcText([], 1)).toBe("");
  });

  it("are a dash if no status was seen, and empty if the protocol has none", () => {
    expect([errorsText("GET /", 0), errorsText("GET /", 0.02), errorsText("GET /", null), errorsText(null, null), errorsText("redis GET", null)]).toEqual(["0 %", "2 %", "–", "–", ""]);
  });
});
