import { optionalString, optionalNumber, oneOf, pictureSearch, type PictureSearch } from "@/lib/search";

export const KINDS = ["cgroup", "process", "tcp_server", "tcp_upstream", "dns_server", "dns_path", "probe", "node"] as const;

/** The explorer's filter in the URL. */
export interface ResourceListSearch {
  q?: string | undefined;
  kind?: (typeof KINDS)[number] | undefined;
  node?: number | undefined;
  throttled?: true | undefined;
  /** Also resources that were not seen in the last minutes. */
  all?: true | undefined;
}

const flag = (value: unknown): true | undefined => (value === true || value === "true" ? true : undefined);

export function resourceListSearch(search: Record<string, unknown>): ResourceListSearch {
  return {
    q: optionalString(search["q"]),
    kind: oneOf(search["kind"], KINDS),
    node: optionalNumber(search["node"]),
    throttled: flag(search["throttled"]),
    all: flag(search["all"]),
  };
}

/** A resource's picture, and the window it can move in, in minutes. */
export interface ResourceSearch extends PictureSearch {
  minutes?: number | undefined;
  /** End of the window, µs; absent: it moves with the clock. */
  to?: number | undefined;
}

export function resourceSearch(search: Record<string, unknown>): ResourceSearch {
  return { ...pictureSearch(search), minutes: optionalNumber(search["minutes"]), to: optionalNumber(search["to"]) };
}
