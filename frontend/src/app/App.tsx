import { QueryClientProvider, useQuery } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useEffect, type ReactElement } from "react";

import { setSignedOutHandler } from "@/api/client";
import { listen } from "@/api/live";
import { meQuery } from "@/api/me";
import { queryClient } from "@/api/queryClient";
import { ToastProvider } from "@/ui/Toast";

import { router } from "./router";

setSignedOutHandler(() => {
  const { pathname, href } = router.state.location;
  if (pathname === "/sign-in" || pathname === "/accept") return;
  queryClient.removeQueries({ queryKey: meQuery().queryKey });
  void router.navigate({ to: "/sign-in", search: { next: href } });
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

/** One stream of changes for as long as the same person is signed in to the same organization. */
function LiveConnection(): null {
  const { data: me } = useQuery({ ...meQuery(), enabled: false });
  const who = me === undefined ? null : `${me.user_id ?? ""}@${me.organization.id}`;
  useEffect(() => (who === null ? undefined : listen(queryClient)), [who]);
  return null;
}
