import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";

import { api } from "@/api/client";
import { meQuery, type Me } from "@/api/me";
import { setupsQuery, type Setup, type Setups } from "@/api/setups";

import { AddCollector } from "./AddCollector";

const setup = (name: string, sends: Setup["sends"]): Setup => ({ name, title: `Title of ${name}`, sends, file: `File of ${name}`, text: `JITTERSCOPE_TOKEN=INGEST_TOKEN ${name}`, next: `Then ${name}.` });

function show(onlyHere: string | null): void {
  const setups: Setups = { server: window.location.origin, only_here: onlyHere, items: [setup("linux", "ticks"), setup("kubernetes", "ticks"), setup("prometheus", "metrics")] };
  const token = { id: 7, created_at: "2026-11-24T10:00:00Z" };
  vi.spyOn(api, "POST").mockResolvedValue({ data: { token, secret: "jsi_secret" }, response: new Response() });
  vi.spyOn(api, "GET").mockResolvedValue({ data: { items: [], next_cursor: null }, response: new Response() } as never);
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(setupsQuery().queryKey, setups);
  client.setQueryData(meQuery().queryKey, { role: "editor", scopes: ["collectors:write"], organization: { id: 1, name: "Acme" } } as Me);
  render(
    <QueryClientProvider client={client}>
      <AddCollector />
    </QueryClientProvider>,
  );
}

describe("AddCollector", () => {
  it("shows each way to start a sender, with the secret in place of its word alone", async () => {
    const user = userEvent.setup();
    show(null);
    expect(screen.getAllByRole("button", { name: /Title of/ }).map((one) => one.textContent)).toEqual(["Title of linux", "Title of kubernetes", "Title of prometheus"]);
    expect(screen.queryByRole("note")).toBeNull();
    await user.click(screen.getByRole("button", { name: "Create token" }));
    expect(await screen.findByRole("region", { name: "File of linux" })).toHaveTextContent("JITTERSCOPE_TOKEN=jsi_secret linux");
    expect(screen.getByText(/Waiting for the first data/)).toBeVisible();
    // The same token fits every way.
    await user.click(screen.getByRole("button", { name: "Title of prometheus" }));
    expect(screen.getByRole("region", { name: "File of prometheus" })).toHaveTextContent("JITTERSCOPE_TOKEN=jsi_secret prometheus");
    expect(screen.getByText(/Waiting for the first samples/)).toBeVisible();
  });

  it("says if other machines cannot reach the address", () => {
    show("Other machines cannot reach http://localhost:3000.");
    expect(screen.getByRole("note")).toHaveTextContent("Other machines cannot reach http://localhost:3000.");
  });
});
