import { useInfiniteQuery } from "@tanstack/react-query";

import { incidentsQuery } from "@/api/incidents";

/** The incidents before and after this one, in the order of the list. */
export function useNeighbors(id: number): { previous: number | null; next: number | null } {
  const { data } = useInfiniteQuery(incidentsQuery({ state: "all" }));
  const ids = data?.pages.flatMap((page) => page.items.map((item) => item.id)) ?? [];
  const at = ids.indexOf(id);
  return { previous: at > 0 ? (ids[at - 1] ?? null) : null, next: at >= 0 ? (ids[at + 1] ?? null) : null };
}
