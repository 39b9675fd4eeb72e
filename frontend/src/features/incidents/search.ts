import { oneOf, optionalString, pictureSearch, type PictureSearch } from "@/lib/search";

/** The list's filter in the URL, without defaults. */
export interface IncidentSearch {
  state?: "active" | "closed" | "all" | undefined;
  severity?: "critical" | "warning" | "info" | undefined;
  muted?: "yes" | "no" | undefined;
  q?: string | undefined;
  order?: "worst" | undefined;
}

export function incidentSearch(search: Record<string, unknown>): IncidentSearch {
  return {
    state: oneOf(search["state"], ["active", "closed", "all"]),
    severity: oneOf(search["severity"], ["critical", "warning", "info"]),
    muted: oneOf(search["muted"], ["yes", "no"]),
    q: optionalString(search["q"]),
    order: oneOf(search["order"], ["worst"]),
  };
}

/** Search parameters of an incident's page: the timeline's view, and the what-if setting ("cpu_limit:2,gogc:off"). */
export interface IncidentPageSearch extends PictureSearch {
  try?: string | undefined;
}

export function incidentPageSearch(search: Record<string, unknown>): IncidentPageSearch {
  return { ...pictureSearch(search), try: optionalString(search["try"]) };
}
