import { useQueries, type UseQueryResult } from "@tanstack/react-query";

import { seriesQuery, type SeriesChart } from "@/api/resources";
import { parts } from "@/lib/parts";
import type { TimeView } from "@/lib/timeView";

import type { AsyncQuery } from "./Async";

/** The server accepts this many metrics per request. */
const MOST = 20;

/** All of a resource's metrics in a window, in as many requests as that takes. */
export function useSeries(resource: number, metrics: readonly string[], window: TimeView, points: number): AsyncQuery<readonly SeriesChart[]> {
  return useQueries({ queries: parts(metrics, MOST).map((part) => seriesQuery(resource, part, window, points)), combine: together });
}

const together = (found: UseQueryResult<{ series: SeriesChart[] }>[]): AsyncQuery<readonly SeriesChart[]> => {
  const failed = found.find(({ isError }) => isError);
  const isWhole = found.every(({ data }) => data !== undefined);
  return {
    data: isWhole ? found.flatMap(({ data }) => data?.series ?? []) : undefined,
    isError: failed !== undefined,
    error: failed?.error ?? null,
    refetch: () => found.forEach(({ isError, refetch }) => isError && void refetch()),
  };
};
