import type { ServiceItem } from "@/api/services";

import { servicesSearch } from "./search";
import { calledName, hopParts, rateText, serverErrorTexts, throttledText, worstText } from "./words";

const item = (values: Partial<ServiceItem>): ServiceItem => values as ServiceItem;

describe("the list in the URL", () => {
  it("is validated", () => {
    expect(servicesSearch({ order: "p99", direction: "up", minutes: "360", q: "web" })).toMatchObject({ order: "p99", direction: "up", minutes: 360, q: "web" });
    expect(servicesSearch({ order: "color", direction: "left", minutes: 7, q: 3, show: "globe" })).toEqual({});
    expect(servicesSearch({ show: "map", minutes: 15 })).toEqual({ show: "map", minutes: 15 });
  });

});

describe("words", () => {
  it("says query only for DNS", () => {
    expect(rateText(item({ kind: "dns_server", requests_per_s: 1500 }))).toBe("1,500 queries/s");
    expect(rateText(item({ kind: "tcp_server", requests_per_s: 0.25 }))).toBe("0.25 requests/s");
    expect(rateText(item({ kind: "tcp_server", requests_per_s: null }))).toBe("–");
  });

  it("shows server errors if there are any", () => {
    const texts = (http: number | null, grpc: number | null): string[] => serverErrorTexts(item({ server_errors_per_s: http, grpc_errors_per_s: grpc }));
    expect([texts(2.5, null), texts(0, null), texts(null, 0), texts(null, 0.5), texts(1, 2)]).toEqual([["5xx 2.5/s"], [], [], ["gRPC errors 0.5/s"], ["5xx 1/s", "gRPC errors 2/s"]]);
  });

  it("shows the slowest minute, and how many minutes have data", () => {
    expect(worstText([null, 900, 90_000, 31_000], 0)).toMatch(/^Slowest answer 90 ms at \d\d:02; over 20 ms in 2 of 3 minutes$/);
    expect(worstText([null, null], 0)).toBe("No answers recorded");
  });

  it("shows the time of a hop if it was measured", () => {
    const call = { p50_us: 900, p99_us: 31_000, max_us: 412_000, calls_per_s: 200, name: "10.96.0.7:80", server: null, service: null, workloads: [] as string[] } as ServiceItem["asks"][number];
    expect(hopParts(call)).toEqual(["p50 900 µs", "p99 31 ms", "up to 412 ms", "200 calls/s"]);
    expect(hopParts({ ...call, p50_us: null, p99_us: null, max_us: null, calls_per_s: 0.5 })).toEqual(["0.5 calls/s"]);
  });

  it("names the Service that has the address of an upstream, and what is behind it", () => {
    const call = { p50_us: null, p99_us: null, max_us: null, calls_per_s: 2, name: "10.96.0.7:80", server: null, service: "shop/stock" } as ServiceItem["asks"][number];
    const shown = (more: Partial<typeof call>): string[] => [calledName({ ...call, workloads: [], ...more }), ...hopParts({ ...call, workloads: [], ...more })];
    expect(shown({ workloads: ["Deployment/stock"] })).toEqual(["shop/stock", "Service of Deployment/stock", "2 calls/s"]);
    expect(shown({ workloads: ["stock", "stock-canary"] })).toEqual(["shop/stock", "Service of stock, stock-canary", "2 calls/s"]);
    expect(shown({})).toEqual(["shop/stock", "Service, its pods are not known", "2 calls/s"]);
    expect(shown({ service: null })).toEqual(["10.96.0.7:80", "2 calls/s"]);
    expect(shown({ server: { id: 1, kind: "tcp_server", key: "k", name: "web :80" } })).toEqual(["web :80", "2 calls/s"]);
  });

  it("leaves not throttled and not measured to the caller", () => {
    expect(throttledText(item({ throttled_ms_per_min: 420 }))).toBe("throttled 420 ms/min");
    expect([0, null].map((value) => throttledText(item({ throttled_ms_per_min: value })))).toEqual([null, null]);
  });
});
