import { useQuery } from "@tanstack/react-query";

import { resourceChangesQuery, type Change, type Changes } from "@/api/changes";
import type { ChartChange } from "@/charts/changes/changes";
import { parseUs } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";

/** What was changed in a window and shortly before, oldest first, as charts draw it. null: it cannot be loaded; undefined: not yet. */
export function useChanges(resourceId: number | null, window: TimeView): readonly ChartChange[] | null | undefined {
  const query = useQuery({ ...resourceChangesQuery(resourceId ?? 0, window), enabled: resourceId !== null, select: onCharts });
  return query.isError ? null : query.data;
}

const onCharts = ({ items }: Changes): readonly ChartChange[] => items.map(onChart).toReversed();

const onChart = (change: Change): ChartChange => ({
  key: change.id === null ? `${change.at} ${change.what} ${change.text}` : String(change.id),
  atUs: parseUs(change.at),
  text: change.text,
  what: change.what,
  origin: change.origin === "seen" ? "seen by a collector" : `reported by ${change.author ?? change.reported_by ?? "a member"}`,
});
