import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { render, screen, within } from "@testing-library/react";

import { NotFound } from "./NotFound";

describe("NotFound", () => {
  it("offers the four places and the search", async () => {
    vi.spyOn(window, "scrollTo").mockImplementation(() => undefined);
    const router = createRouter({ routeTree: createRootRoute({ component: NotFound }), history: createMemoryHistory({ initialEntries: ["/"] }) });
    render(<RouterProvider router={router} />);
    expect(await screen.findByRole("heading", { level: 1, name: "Page not found" })).toBeVisible();
    const links = within(screen.getByRole("navigation", { name: "Places to go" })).getAllByRole("link");
    expect(links.map((link) => [link.textContent, link.getAttribute("href")])).toEqual([
      ["Home", "/"],
      ["Issues", "/incidents"],
      ["Explore", "/resources"],
      ["Evidence", "/evidence"],
    ]);
    expect(screen.getByText(/^Search finds pages, incidents, and resources/)).toHaveTextContent("Ctrl K");
  });
});
