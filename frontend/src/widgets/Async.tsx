import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";

import { explain } from "@/api/problem";
import { ErrorState, Skeleton } from "@/ui/states";

export interface AsyncProps<Data> {
  query: Pick<UseQueryResult<Data>, "data" | "isError" | "error" | "refetch">;
  label: string;
  children: (data: Data) => ReactNode;
}

/** What a query gives, its skeleton until then, or its error. */
export function Async<Data>({ query, label, children }: AsyncProps<Data>): ReactElement {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.isError) return <ErrorState {...explain(query.error)} onRetry={() => void query.refetch()} />;
  return <Skeleton lines={4} height={28} label={label} />;
}
