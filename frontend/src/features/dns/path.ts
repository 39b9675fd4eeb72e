/** The path as columns, and the figures of a hop. Pure. */

import type { DnsHop, DnsLink, DnsPath } from "@/api/dns";
import { count, microseconds, percent, significant } from "@/lib/format";

/** Hops from left to right, those of one level below each other. */
export function columns(hops: readonly DnsHop[]): DnsHop[][] {
  const levels = [...new Set(hops.map((hop) => hop.level))].sort((a, b) => a - b);
  return levels.map((level) => hops.filter((hop) => hop.level === level));
}

/** IDs of the servers that clients query, where each query counts once; all servers if no clients are known. */
export function entryServers({ hops, links }: Pick<DnsPath, "hops" | "links">): number[] {
  const servers = hops.filter((hop) => hop.kind === "server");
  const asked = new Set(links.filter((link) => link.known !== "clients").map((link) => link.asked));
  const entries = servers.filter((hop) => !asked.has(hop.id));
  return (entries.length > 0 ? entries : servers).flatMap((hop) => hop.resource_ids);
}

/** IDs of the resources whose changes can change the path: its servers' containers, and the node. */
export function changed({ hops, node }: Pick<DnsPath, "hops" | "node">): number[] {
  return [...(node === null ? [] : [node.id]), ...hops.flatMap(({ cgroup_id: id }) => (id === null ? [] : [id]))];
}

export interface Figure {
  readonly label: string;
  readonly value: string;
  readonly hot?: boolean;
}

/** A rate with its unit: 318/s, 0.4/s. */
export const rate = (perSecond: number | null | undefined): string => (perSecond == null ? "–" : `${significant(perSecond, perSecond < 10 ? 2 : 3)}/s`);

const some = (value: number | null | undefined): value is number => value != null && value > 0;

/** Rows of a hop: figures that are measured and not zero, with the worst ones marked. */
export function figuresOf(hop: DnsHop): Figure[] {
  const figures: Figure[] = [];
  if (hop.queries_per_s !== null) figures.push({ label: "Queries", value: rate(hop.queries_per_s) });
  if (some(hop.concurrency)) figures.push({ label: "In flight", value: significant(hop.concurrency, 2) });
  if (some(hop.error_ratio)) figures.push({ label: "Failed", value: failed(hop), hot: true });
  if (some(hop.error_lines)) figures.push({ label: "Error lines", value: count(hop.error_lines), hot: true });
  if (some(hop.children)) {
    const full = hop.child_limit !== null && hop.children >= hop.child_limit;
    figures.push({ label: "Children", value: hop.child_limit === null ? count(hop.children) : `${count(hop.children)} of ${count(hop.child_limit)}${full ? ", limit reached" : ""}` });
  }
  if (some(hop.connections)) figures.push({ label: "Connections", value: withIdle(hop.connections, hop.idle) });
  if (some(hop.backlog)) figures.push({ label: "Accept queue", value: count(hop.backlog), hot: true });
  if (some(hop.dropped)) figures.push({ label: "Dropped", value: count(hop.dropped), hot: true });
  if (some(hop.cache_hit_ratio)) figures.push({ label: "Cache hits", value: percent(hop.cache_hit_ratio) });
  if (some(hop.upstream_connections)) figures.push({ label: "Upstream connections", value: withIdle(hop.upstream_connections, hop.upstream_idle) });
  if (some(hop.new_connections_per_s)) figures.push({ label: "New upstream connections", value: rate(hop.new_connections_per_s) });
  if (some(hop.rejected)) figures.push({ label: "Over max_concurrent", value: count(hop.rejected), hot: true });
  return figures;
}

const failed = (hop: DnsHop): string => (some(hop.timeouts) ? `${percent(hop.error_ratio)}, ${count(hop.timeouts)} timed out` : percent(hop.error_ratio));

const withIdle = (all: number, idle: number | null): string => (some(idle) ? `${count(all)}, ${count(idle)} idle` : count(all));

const PROTOCOLS = { tcp: "TCP", udp: "UDP", as_asked: "same as client" } as const;

/** Traffic over a link, in one line. */
export function linkText(link: DnsLink): string {
  const parts: string[] = [];
  if (link.protocol !== null) parts.push(PROTOCOLS[link.protocol]);
  if (link.queries_per_s !== null) parts.push(rate(link.queries_per_s));
  if (link.p99_us !== null) parts.push(`p99 ${microseconds(link.p99_us)}`);
  else if (link.mean_us !== null) parts.push(`mean ${microseconds(link.mean_us)}`);
  if (link.max_concurrent !== null) parts.push(`max_concurrent ${link.max_concurrent}`);
  return parts.join(" · ");
}

const HOW = { settings: "configuration", address: "addresses", time: "query timing", clients: "packets" } as const;

/** The same in a sentence, including how the link is known. */
export function linkSentence(link: DnsLink, name: (id: string) => string): string {
  const zones = link.zones.filter((zone) => zone !== ".");
  const what = linkText(link);
  return `${name(link.asker)} queries ${name(link.asked)}${zones.length > 0 ? ` for ${zones.join(", ")}` : ""}${what === "" ? "" : `: ${what}`} (known from ${HOW[link.known]})`;
}

/** Left edge and width of p50 to p99 on a log scale of 100 µs to 10 s, in percent. */
export function latencyBar(p50Us: number | null, p99Us: number | null): { readonly left: number; readonly width: number } | null {
  if (p50Us === null || p99Us === null) return null;
  const at = (us: number): number => Math.max(0, Math.min(100, ((Math.log10(Math.max(us, 1)) - 2) / 5) * 100));
  const left = at(p50Us);
  return { left, width: Math.max(1.5, at(p99Us) - left) };
}
