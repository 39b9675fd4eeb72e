import { QueryClient } from "@tanstack/react-query";

import { ApiError } from "./problem";

/** A refusal stays a refusal: only what may pass by itself is tried again. */
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
