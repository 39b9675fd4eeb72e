import type { ServiceOrder } from "@/api/services";
import { oneOf, optionalNumber, optionalString } from "@/lib/search";

export const MINUTES = [15, 60, 360, 1440] as const;
export const DEFAULT_MINUTES = 60;
const ORDERS = ["name", "rate", "failed", "p50", "p99", "slow", "worst", "runtime", "stalls"] as const satisfies readonly ServiceOrder[];
export const DEFAULT_ORDER: ServiceOrder = "slow";

/** The list in the URL. */
export interface ServicesSearch {
  q?: string | undefined;
  order?: ServiceOrder | undefined;
  /** Absent: the direction that this order starts with. */
  direction?: "up" | "down" | undefined;
  minutes?: (typeof MINUTES)[number] | undefined;
  /** End of the window, µs; absent: it moves with the clock. */
  to?: number | undefined;
}

export function servicesSearch(search: Record<string, unknown>): ServicesSearch {
  const minutes = optionalNumber(search["minutes"]);
  return {
    q: optionalString(search["q"]),
    order: oneOf(search["order"], ORDERS),
    direction: oneOf(search["direction"], ["up", "down"]),
    minutes: MINUTES.find((choice) => choice === minutes),
    to: optionalNumber(search["to"]),
  };
}

/** Words start with A, figures with the most. */
const STARTS_UP: readonly ServiceOrder[] = ["name", "runtime"];

export function isDescending({ order = DEFAULT_ORDER, direction }: ServicesSearch): boolean {
  return direction === undefined ? !STARTS_UP.includes(order) : direction === "down";
}

/** After a press on a column's heading: another order, or the same the other way round. */
export function sortedBy(search: ServicesSearch, order: ServiceOrder): ServicesSearch {
  const again = (search.order ?? DEFAULT_ORDER) === order;
  const next: ServicesSearch = { ...search, order: order === DEFAULT_ORDER ? undefined : order, direction: undefined };
  return again && search.direction === undefined ? { ...next, direction: isDescending(search) ? "up" : "down" } : next;
}
