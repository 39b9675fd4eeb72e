import type { ServiceOrder } from "@/api/services";
import { oneOf, optionalNumber, optionalString } from "@/lib/search";
import { sorting, type Sorted } from "@/lib/sorting";

export const MINUTES = [15, 60, 360, 1440] as const;
export const DEFAULT_MINUTES = 60;
const ORDERS = ["name", "rate", "failed", "p50", "p99", "slow", "worst", "runtime", "stalls"] as const satisfies readonly ServiceOrder[];
export const SORTING = sorting<ServiceOrder>("slow", ["name", "runtime"]);

/** The page in the URL; the order is the table's. */
export interface ServicesSearch extends Sorted<ServiceOrder> {
  /** Absent: the table. */
  show?: "map" | undefined;
  q?: string | undefined;
  minutes?: (typeof MINUTES)[number] | undefined;
  /** End of the window, µs; absent: now. */
  to?: number | undefined;
}

export function servicesSearch(search: Record<string, unknown>): ServicesSearch {
  const minutes = optionalNumber(search["minutes"]);
  return {
    show: oneOf(search["show"], ["map"]),
    q: optionalString(search["q"]),
    order: oneOf(search["order"], ORDERS),
    direction: oneOf(search["direction"], ["up", "down"]),
    minutes: MINUTES.find((choice) => choice === minutes),
    to: optionalNumber(search["to"]),
  };
}
