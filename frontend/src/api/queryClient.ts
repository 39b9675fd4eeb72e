import { QueryClient } from "@tanstack/react-query";

import { ApiError } from "./problem";

/** Retries only errors that can be temporary, never a refusal. */
function worthRetrying(failures: number, error: unknown): boolean {
  if (error instanceof ApiError) return failures < 3 && (error.status >= 500 || error.status === 429);
  return failures < 3;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 10_000, retry: worthRetrying, retryDelay: (n) => Math.min(8000, 500 * 2 ** n) },
    mutations: { retry: false },
  },
});
