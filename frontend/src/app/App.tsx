import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useEffect, useSyncExternalStore, type ReactElement } from "react";

import { setSignedOutHandler } from "@/api/client";
import { listen } from "@/api/live";
import { meQuery } from "@/api/me";
import { queryClient } from "@/api/queryClient";
import { ToastProvider } from "@/ui/Toast";

import { router } from "./router";

setSignedOutHandler(() => {
  const { pathname, searchStr, hash } = router.state.location;
  if (pathname === "/sign-in" || pathname === "/accept") return;
  queryClient.removeQueries({ queryKey: meQuery().queryKey });
  void router.navigate({ to: "/sign-in", search: { next: `${pathname}${searchStr}` }, hash });
});

export function App(): ReactElement {
  return (
    <QueryClientProvider client={queryClient}>
      <ToastProvider>
        <LiveConnection />
        <RouterProvider router={router} />
      </ToastProvider>
    </QueryClientProvider>
  );
}

/** One event stream for as long as the same user is signed in to the same organization. */
function LiveConnection(): null {
  const who = useSyncExternalStore(onCacheChange, signedIn);
  useEffect(() => (who === null ? undefined : listen(queryClient)), [who]);
  return null;
}

// Reads the cache, not a query: signing in clears the cache, and an observer would keep watching the old query.
const onCacheChange = (listener: () => void): (() => void) => queryClient.getQueryCache().subscribe(listener);

function signedIn(): string | null {
  const me = queryClient.getQueryData(meQuery().queryKey);
  return me === undefined ? null : `${me.user_id ?? ""}@${me.organization.id}`;
}
