import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactElement } from "react";

import type { MapCall, MapPlace, ServiceMap } from "@/api/services";

import { CallTable } from "./CallTable";
import { MapList } from "./MapList";
import { MapPicture } from "./MapPicture";

const place = (id: number, name: string, more: Partial<MapPlace> = {}): MapPlace => ({
  id: name, kind: "workload", name, namespace: "shop", opens: { id, kind: "tcp_server", key: name, name },
  node: null, members: 2, workloads: [], slow_ratio: null, throttled_ms_per_min: null, incidents: [], ...more,
});
const call = (caller: string, called: string, more: Partial<MapCall> = {}): MapCall => ({
  caller, called, protocol: "tcp", opens: { id: 90, kind: "tcp_server", key: called, name: called },
  services: [], calls_per_s: 12, slow_ratio: 0, p50_us: 900, p99_us: 1800, max_us: 9000, ...more,
});
const map = (calls: MapCall[], places: MapPlace[]): ServiceMap => ({
  from_us: 0, to_us: 1, center: null, places, calls, places_found: places.length, calls_found: calls.length, paths_seen: 1, paths_compared: 1,
});

const small = map(
  [call("web", "stock", { slow_ratio: 0.04, services: ["shop/stock"] }), call("Clients of dns", "dns", { protocol: "dns" })],
  [place(1, "web"), place(2, "stock", { throttled_ms_per_min: 40 }), place(3, "Clients of dns", { kind: "clients", opens: null }), place(4, "dns")],
);
const at = { minutes: 15, to: 1_000_000 };

async function show(children: ReactElement): Promise<void> {
  const router = createRouter({ routeTree: createRootRoute({ component: () => children }), history: createMemoryHistory({ initialEntries: ["/"] }) });
  render(<RouterProvider router={router} />);
  await screen.findAllByText("dns");
}

describe("the picture", () => {
  it("links each place but clients to its server at the same window, all in one Tab stop", async () => {
    const user = userEvent.setup();
    await show(<MapPicture map={small} widthPx={1200} window={at} />);
    const links = within(screen.getByRole("group")).getAllByRole("link");
    expect(links.map((link) => [link.getAttribute("href"), link.tabIndex])).toEqual([
      ["/resources/1?minutes=15&to=1000000", 0],
      ["/resources/2?minutes=15&to=1000000", -1],
      ["/resources/4?minutes=15&to=1000000", -1],
    ]);
    await user.tab();
    expect(links[0]).toHaveFocus();
    await user.keyboard("{ArrowRight}");
    const stock = screen.getByRole("link", { name: "stock ▲ 4 % throttled 40 ms/min" });
    expect(stock).toHaveFocus();
    expect(stock).toHaveAccessibleDescription("stock, throttled 40 ms/min, 1 caller, calls 0");
    expect(links[1]).toHaveAttribute("tabindex", "0");
  });

  it("lets what the focus is not on step back", async () => {
    const user = userEvent.setup();
    await show(<MapPicture map={small} widthPx={1200} window={at} />);
    expect(screen.getByRole("link", { name: /^dns/ })).not.toHaveAttribute("data-faded");
    await user.tab();
    expect(screen.getByRole("link", { name: /^dns/ })).toHaveAttribute("data-faded");
    expect(screen.getByRole("link", { name: /^stock/ })).not.toHaveAttribute("data-faded");
  });
});

it("has a row per call, and the rest on request", async () => {
  const user = userEvent.setup();
  const many = Array.from({ length: 25 }, (_, number) => call("web", `store-${number}`, { services: number === 0 ? ["shop/store-0"] : [] }));
  await show(<CallTable map={map([call("web", "dns", { protocol: "dns", max_us: null }), ...many], [place(1, "web"), place(4, "dns")])} window={at} />);
  const rows = (): HTMLElement[] => within(screen.getByRole("table", { name: "Calls" })).getAllByRole("rowheader");
  expect(rows()).toHaveLength(20);
  expect(screen.getByText("Service shop/store-0")).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Show all 26 calls" }));
  expect(rows()).toHaveLength(26);
  expect(screen.queryByRole("button")).toBeNull();
});

it("lists callers with their calls where there is no room for a picture", async () => {
  await show(<MapList map={small} window={at} />);
  const callers = within(screen.getByRole("list", { name: "Callers" }));
  expect(callers.getByRole("link", { name: "stock" })).toHaveAttribute("href", "/resources/90?minutes=15&to=1000000");
  expect(callers.getByText("4 % over 20 ms")).toBeVisible();
  expect(callers.queryByRole("link", { name: "Clients of dns" })).toBeNull();
  expect(callers.getByText("12 queries/s")).toBeVisible();
  expect(callers.getByText("· Service shop/stock")).toBeVisible();
});
