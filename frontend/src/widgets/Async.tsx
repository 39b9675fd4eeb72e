import type { ReactElement, ReactNode } from "react";

import { explain } from "@/api/problem";
import { ErrorState, Skeleton } from "@/ui/states";

/** The used part of a query's result; also for a paged query, with its pages combined. */
export interface AsyncQuery<Data> {
  data: Data | undefined;
  isError: boolean;
  error: Error | null;
  refetch: () => unknown;
}

export interface AsyncProps<Data> {
  query: AsyncQuery<Data>;
  label: string;
  children: (data: Data) => ReactNode;
}

/** A query's result, its skeleton while loading, or its error. */
export function Async<Data>({ query, label, children }: AsyncProps<Data>): ReactElement {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.isError) return <ErrorState {...explain(query.error)} onRetry={() => void query.refetch()} />;
  return <Skeleton lines={4} height={28} label={label} />;
}
