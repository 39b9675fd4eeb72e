import { createMemoryHistory, createRootRoute, createRoute, createRouter, Outlet, RouterProvider } from "@tanstack/react-router";
import { act, render, screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";

import { useStays } from "./useStays";

// jsdom does not implement it.
vi.stubGlobal("scrollTo", () => undefined);

it("a page no longer stays once navigation starts, while the next page is still loading", async () => {
  let stays = (): boolean => false;
  function Here(): string {
    stays = useStays();
    return "here";
  }
  const root = createRootRoute({ component: Outlet });
  const here = createRoute({ getParentRoute: () => root, path: "/causes", component: Here });
  const slow = createRoute({ getParentRoute: () => root, path: "/dns", loader: () => new Promise<void>(() => undefined) });
  const router = createRouter({ routeTree: root.addChildren([here, slow]), history: createMemoryHistory({ initialEntries: ["/causes"] }) });
  render(<RouterProvider router={router as never} />);
  await screen.findByText("here");
  expect(stays()).toBe(true);
  await act(() => router.navigate({ to: "/causes", search: { cause: "cpu/gc_throttling" } }));
  expect(stays()).toBe(true);
  act(() => void router.navigate({ to: "/dns" }));
  await Promise.resolve();
  expect(router.latestLocation.pathname).toBe("/dns");
  expect(stays()).toBe(false);
});
