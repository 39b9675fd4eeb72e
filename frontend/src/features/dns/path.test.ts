import type { DnsHop, DnsLink } from "@/api/dns";

import { changed, columns, entryServers, figuresOf, latencyBar, linkSentence, linkText, rate } from "./path";
import { dnsSearch } from "./search";

const hop = (id: string, level: number, more: Partial<DnsHop> = {}): DnsHop => ({
  id, kind: "server", name: id, addresses: [], software: null, version: null, resource_ids: [], cgroup_id: null, level,
  queries_per_s: null, p50_us: null, p99_us: null, max_us: null, own_p50_us: null, own_p99_us: null, own_max_us: null, matched_queries: 0,
  slow_ratio: null, error_ratio: null, nxdomain_ratio: null, timeouts: null, error_lines: 0, concurrency: null, connections: null, idle: null,
  backlog: null, dropped: null, children: null, child_limit: null, upstream_connections: null, upstream_idle: null, new_connections_per_s: null,
  cache_hit_ratio: null, forward_mean_us: null, rejected: null, clients: [], incidents: [], ...more,
});
const link = (asker: string, asked: string, more: Partial<DnsLink> = {}): DnsLink => ({
  asker, asked, zones: ["."], protocol: null, known: "settings", max_concurrent: null, queries_per_s: null, p50_us: null, p99_us: null, mean_us: null, ...more,
});

const hops = [
  hop("clients", 0, { kind: "clients" }),
  hop("cache", 1, { resource_ids: [3, 4] }),
  hop("dnsmasq", 2, { resource_ids: [7], children: 20, child_limit: 20, connections: 44, idle: 21, backlog: 24, error_ratio: 0.02, timeouts: 31, queries_per_s: 318.4 }),
  hop("8.8.8.8:53", 2, { kind: "upstream" }),
];
const links = [link("clients", "cache", { known: "clients" }), link("cache", "dnsmasq"), link("cache", "8.8.8.8:53")];

describe("the path", () => {
  it("is split into columns by level", () => {
    expect(columns(hops).map((stage) => stage.map((one) => one.id))).toEqual([["clients"], ["cache"], ["dnsmasq", "8.8.8.8:53"]]);
  });

  it("counts a query where it enters: at servers that no other server queries", () => {
    expect(entryServers({ hops, links })).toEqual([3, 4]);
  });

  it("takes all servers if they query each other in a circle", () => {
    expect(entryServers({ hops, links: [...links, link("dnsmasq", "cache")] })).toEqual([3, 4, 7]);
  });

  it("changes with its node and with the containers of its servers", () => {
    expect(changed({ hops: [hop("cache", 1, { cgroup_id: 5 }), hop("8.8.8.8:53", 2, { kind: "upstream" })], node: { id: 2, name: "node-1" } })).toEqual([2, 5]);
    expect(changed({ hops: [], node: null })).toEqual([]);
  });

  it("shows a hop's figures, and leaves out zeros and figures not measured", () => {
    expect(figuresOf(hops[2] as DnsHop)).toEqual([
      { label: "Queries", value: "318/s" },
      { label: "Failed", value: "2 %, 31 timed out", hot: true },
      { label: "Children", value: "20 of 20, limit reached" },
      { label: "Connections", value: "44, 21 idle" },
      { label: "Accept queue", value: "24", hot: true },
    ]);
    expect(figuresOf(hop("quiet", 1, { backlog: 0, dropped: 0, error_ratio: 0, children: 0, child_limit: 20 }))).toEqual([]);
  });

  it("describes a link's traffic, and how it is known", () => {
    const busy = link("cache", "dnsmasq", { protocol: "tcp", queries_per_s: 318.4, p99_us: 53_292, mean_us: 50_000, zones: ["cluster.local"] });
    expect(linkText(busy)).toBe("TCP · 318/s · p99 53.3 ms");
    expect(linkText({ ...busy, p99_us: null })).toBe("TCP · 318/s · mean 50 ms");
    expect(linkSentence(busy, (id) => id.toUpperCase())).toBe("CACHE queries DNSMASQ for cluster.local: TCP · 318/s · p99 53.3 ms (known from configuration)");
    expect(linkSentence(link("a", "b", { known: "time" }), (id) => id)).toBe("a queries b (known from query timing)");
  });

  it("draws latency from 100 µs to 10 s, never too thin to see, never outside", () => {
    expect(latencyBar(100, 10_000_000)).toEqual({ left: 0, width: 100 });
    expect(latencyBar(1000, 1000)).toEqual({ left: 20, width: 1.5 });
    expect(latencyBar(10, 50)).toEqual({ left: 0, width: 1.5 });
    expect(latencyBar(null, 5)).toBeNull();
  });

  it("writes rates short", () => {
    expect([rate(0.42), rate(318.4), rate(12_345), rate(null)]).toEqual(["0.42/s", "318/s", "12,345/s", "–"]);
  });
});

describe("dnsSearch", () => {
  it("takes only known parameters from the URL", () => {
    expect(dnsSearch({ node: "7", minutes: "15", to: 1e15, order: "time", other: 1 })).toEqual({ node: 7, minutes: 15, to: 1e15, order: "time" });
    expect(dnsSearch({ node: "x", minutes: 7, order: "cost" })).toEqual({ node: undefined, minutes: undefined, to: undefined, order: undefined });
  });
});
