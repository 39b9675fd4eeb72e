import type { MetricView } from "@/api/metrics";
import { oneOf, optionalNumber, optionalString } from "@/lib/search";

export const MINUTES = [15, 60, 360, 1440] as const;
export const DEFAULT_MINUTES = 60;
const VIEWS = ["raw", "rate", "quantiles"] as const satisfies readonly MetricView[];

/** Search parameters of the list of names or of one metric. */
export interface MetricsSearch {
  q?: string | undefined;
  name?: string | undefined;
  /** Label filters: NAME=VALUE, NAME!=VALUE, NAME~PART. */
  match?: string[] | undefined;
  resource?: number | undefined;
  view?: MetricView | undefined;
  minutes?: (typeof MINUTES)[number] | undefined;
}

export function metricsSearch(search: Record<string, unknown>): MetricsSearch {
  const minutes = optionalNumber(search["minutes"]);
  const match = Array.isArray(search["match"]) ? search["match"].filter((one): one is string => typeof one === "string" && one !== "") : [];
  return {
    q: optionalString(search["q"]),
    name: optionalString(search["name"]),
    match: match.length === 0 ? undefined : match,
    resource: optionalNumber(search["resource"]),
    view: oneOf(search["view"], VIEWS),
    minutes: MINUTES.find((choice) => choice === minutes),
  };
}
