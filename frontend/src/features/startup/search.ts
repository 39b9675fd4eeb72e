import { optionalNumber } from "@/lib/search";

export const MINUTES = [15, 60, 360, 1440] as const;
export const DEFAULT_MINUTES = 60;

export interface StartupSearch {
  node?: number | undefined;
  minutes?: (typeof MINUTES)[number] | undefined;
  /** End of the window, µs; absent: now. */
  to?: number | undefined;
  /** Starts before and after this moment are compared, µs. */
  split?: number | undefined;
}

export function startupSearch(search: Record<string, unknown>): StartupSearch {
  const minutes = optionalNumber(search["minutes"]);
  return {
    node: optionalNumber(search["node"]),
    minutes: MINUTES.find((choice) => choice === minutes),
    to: optionalNumber(search["to"]),
    split: optionalNumber(search["split"]),
  };
}
