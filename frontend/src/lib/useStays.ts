import { useRouter } from "@tanstack/react-router";
import { useCallback } from "react";

/** Whether the current page stays: false as soon as navigation starts, even while the next page is loading. */
export function useStays(): () => boolean {
  const router = useRouter();
  return useCallback(() => router.latestLocation.pathname === (router.state.resolvedLocation ?? router.latestLocation).pathname, [router]);
}
