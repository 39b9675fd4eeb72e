import { optionalString, optionalNumber, oneOf, pictureSearch, type PictureSearch } from "@/lib/search";

const KINDS = ["node", "cgroup", "process", "dns_server", "dns_path", "probe"] as const;

/** The explorer's filter in the URL. */
export interface ResourceListSearch {
  q?: string | undefined;
  kind?: (typeof KINDS)[number] | undefined;
  node?: number | undefined;
  throttled?: true | undefined;
}

export function resourceListSearch(search: Record<string, unknown>): ResourceListSearch {
  return {
    q: optionalString(search["q"]),
    kind: oneOf(search["kind"], KINDS),
    node: optionalNumber(search["node"]),
    throttled: search["throttled"] === true || search["throttled"] === "true" ? true : undefined,
  };
}

/** A resource's picture, and the window it can move in, in minutes before `to` (now where absent). */
export interface ResourceSearch extends PictureSearch {
  minutes?: number | undefined;
  to?: number | undefined;
}

export function resourceSearch(search: Record<string, unknown>): ResourceSearch {
  return { ...pictureSearch(search), minutes: optionalNumber(search["minutes"]), to: optionalNumber(search["to"]) };
}
