import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";

import { captureQuery, capturesQuery, type CaptureDetail, type CapturePart, type CaptureProcess, type CaptureSummary } from "@/api/captures";
import type { Incident } from "@/api/incidents";

import { CapturesSection } from "./CapturesSection";

const capture: CaptureSummary = {
  id: 4,
  resource_id: 1,
  of: "node",
  reason: "throttled",
  start_us: 0,
  end_us: 10_000_000,
  rate_hz: 0,
  samples: 0,
  processes: 2,
  cpus: 2,
  lost_samples: 0,
};

const ran = (command: string, ofSubject: boolean): CaptureProcess => ({
  pid: 100,
  command,
  cgroup: `/${command}`,
  of_subject: ofSubject,
  user_ms: 1,
  system_ms: 0,
  threads: 1,
  states: { R: 1 },
  samples: 0,
  kernel_samples: 0,
});

const detail = (scope: CapturePart["scope"], processes: CaptureProcess[]): CaptureDetail => ({
  capture,
  from_us: 0,
  to_us: 10_000_000,
  scope,
  pid: null,
  flame: { names: [], kinds: [], parent: [], name: [], kind: [], samples: [], total_samples: 0, hidden_samples: 0 },
  processes,
  more_processes: 0,
  waiting: [],
  more_waiting: 0,
  seconds: { start_us: 0, step_us: 1_000_000, user_samples: [], kernel_samples: [], user_ms: [], system_ms: [] },
});

function show(kind: string, own: CaptureProcess[]): void {
  const incident = { id: 1, resolved_at: "1970-01-01T00:01:00Z", trigger_at: "1970-01-01T00:00:05Z", subject: { kind, name: "kube-system/coredns" } } as Incident;
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(capturesQuery(1, false).queryKey, { items: [capture] });
  client.setQueryData(captureQuery(1, 4, { time: null, scope: "subject", pid: null }).queryKey, detail("subject", own));
  client.setQueryData(captureQuery(1, 4, { time: null, scope: "node", pid: null }).queryKey, detail("node", [ran("kubelet", false), ...own]));
  render(
    <QueryClientProvider client={client}>
      <CapturesSection incident={incident} />
    </QueryClientProvider>,
  );
}

describe("CapturesSection", () => {
  it("opens at the subject's own processes, with the whole node one press away", async () => {
    show("cgroup", [ran("coredns", true)]);
    expect(screen.getByRole("button", { name: "kube-system/coredns" })).toHaveAttribute("aria-pressed", "true");
    expect(screen.queryByRole("button", { name: "kubelet" })).toBeNull();
    await userEvent.setup().click(screen.getByRole("button", { name: "Whole node" }));
    expect(screen.getByRole("button", { name: "kubelet" })).toBeVisible();
    expect(screen.getByText("(subject)")).toBeVisible();
  });

  it("opens at the whole node if no process of the subject was recorded", () => {
    show("cgroup", []);
    expect(screen.getByRole("button", { name: "Whole node" })).toHaveAttribute("aria-pressed", "true");
    expect(screen.getByRole("button", { name: "kubelet" })).toBeVisible();
  });

  it("offers no choice if the node is the subject", () => {
    show("node", []);
    expect(screen.queryByRole("group", { name: "Stacks of" })).toBeNull();
    expect(screen.getByRole("button", { name: "kubelet" })).toBeVisible();
  });
});
