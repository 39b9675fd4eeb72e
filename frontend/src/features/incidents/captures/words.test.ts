import { describe, expect, it } from "vitest";

import type { CaptureSummary } from "@/api/captures";

import { captureAt, captureTitle, reasonWords, stateWords, waitWords } from "./words";

const capture = (id: number, startUs: number): CaptureSummary => ({
  id,
  resource_id: 1,
  of: "node",
  reason: "system_cpu",
  start_us: startUs,
  end_us: startUs + 10_000_000,
  rate_hz: 99,
  samples: 10,
  processes: 2,
  cpus: 2,
  lost_samples: 0,
});

describe("captureAt", () => {
  it("takes the capture that contains the time, or the nearest one", () => {
    const all = [capture(1, 0), capture(2, 60_000_000)];
    expect(captureAt(all, 5_000_000)?.id).toBe(1);
    expect(captureAt(all, 50_000_000)?.id).toBe(2);
    expect(captureAt(all, 20_000_000)?.id).toBe(1);
    expect(captureAt([], 0)).toBeNull();
  });
});

describe("words", () => {
  it("say why and how long", () => {
    expect(captureTitle(capture(1, 0))).toMatch(/, 10 s of the node: high kernel CPU$/);
    expect(reasonWords("something_new")).toBe("something new");
  });

  it("name the most frequent state", () => {
    expect(stateWords({ R: 1, D: 3 })).toBe("uninterruptible sleep, 3 of 4 times");
    expect(stateWords({ S: 4 })).toBe("sleeping");
    expect(stateWords({})).toBe("–");
    expect(stateWords({ W: 1 })).toBe("W");
  });

  it("name what a thread waits in", () => {
    expect(waitWords({ state: "S", call: "futex" })).toBe("lock or work (futex)");
    expect(waitWords({ state: "T", call: "epoll_wait" })).toBe("stopped");
    expect(waitWords({ state: "D", call: "" })).toBe("page fault or signal");
    expect(waitWords({ state: "S", call: "?" })).toBe("not known");
    expect(waitWords({ state: "S", call: "system call 462" })).toBe("system call 462");
  });
});
