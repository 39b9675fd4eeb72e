import { useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";

import { MOST_RESOURCES, resourceChangesQuery, type Change, type Changes } from "@/api/changes";
import type { ChartChange } from "@/charts/changes/changes";
import { parts } from "@/lib/parts";
import { parseUs } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";

/** Changes of a resource in a window and shortly before it, oldest first, as drawn in charts. null: loading failed; undefined: not loaded yet. */
export function useChanges(resourceId: number, window: TimeView): readonly ChartChange[] | null | undefined {
  const query = useQuery({ ...resourceChangesQuery([resourceId], window), select: onCharts });
  return query.isError ? null : query.data;
}

/** The same for many resources; those that failed to load are left out. */
export function useChangesOf(resourceIds: readonly number[], window: TimeView): readonly ChartChange[] | undefined {
  const ids = [...new Set(resourceIds)].toSorted((a, b) => a - b);
  return useQueries({ queries: parts(ids, MOST_RESOURCES).map((part) => ({ ...resourceChangesQuery(part, window), select: onCharts })), combine: together });
}

const together = (found: UseQueryResult<readonly ChartChange[]>[]): readonly ChartChange[] | undefined => {
  if (found.some(({ isPending }) => isPending)) return undefined;
  const byKey = new Map<string, ChartChange>();
  for (const change of found.flatMap(({ data }) => data ?? [])) {
    const known = byKey.get(change.key);
    byKey.set(change.key, known === undefined ? change : { ...known, of: [...known.of, ...change.of] });
  }
  return [...byKey.values()].toSorted((a, b) => a.atUs - b.atUs);
};

const onCharts = ({ items }: Changes): readonly ChartChange[] => items.map(onChart).toReversed();

const onChart = (change: Change): ChartChange => ({
  key: change.id === null ? `${change.at} ${change.what} ${change.text}` : String(change.id),
  atUs: parseUs(change.at),
  text: change.text,
  what: change.what,
  origin: change.origin === "seen" ? "seen by a collector" : `reported by ${change.author ?? change.reported_by ?? "a member"}`,
  of: change.of,
});
