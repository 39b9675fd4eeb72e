import type { DnsOrder } from "@/api/dns";
import { oneOf, optionalNumber } from "@/lib/search";

export const MINUTES = [1, 5, 15] as const;
export const ORDERS = ["queries", "nxdomain", "time"] as const satisfies readonly DnsOrder[];

export interface DnsSearch {
  node?: number | undefined;
  minutes?: (typeof MINUTES)[number] | undefined;
  /** End of the window, µs; absent: now. */
  to?: number | undefined;
  order?: DnsOrder | undefined;
}

export function dnsSearch(search: Record<string, unknown>): DnsSearch {
  const minutes = optionalNumber(search["minutes"]);
  return {
    node: optionalNumber(search["node"]),
    minutes: MINUTES.find((choice) => choice === minutes),
    to: optionalNumber(search["to"]),
    order: oneOf(search["order"], ORDERS),
  };
}
