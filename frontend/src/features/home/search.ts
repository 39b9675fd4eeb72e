import { oneOf } from "@/lib/search";

/** How the map groups containers; absent: by node. */
export interface HomeSearch {
  by?: "namespace" | undefined;
}

export function homeSearch(search: Record<string, unknown>): HomeSearch {
  return { by: oneOf(search["by"], ["namespace"]) };
}
