import { useRouter } from "@tanstack/react-router";
import { useCallback } from "react";

/** Tells whether the page that is shown stays: it does not from the moment a link leads elsewhere, though the next page still loads. */
export function useStays(): () => boolean {
  const router = useRouter();
  return useCallback(() => router.latestLocation.pathname === (router.state.resolvedLocation ?? router.latestLocation).pathname, [router]);
}
