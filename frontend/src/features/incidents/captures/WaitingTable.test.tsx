import { render, screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";

import type { CaptureWait } from "@/api/captures";

import { WaitingTable } from "./WaitingTable";

const wait = (change: Partial<CaptureWait>): CaptureWait => ({
  command: "server",
  of_subject: true,
  state: "S",
  call: "futex",
  place: "futex_do_wait",
  threads: 14,
  times: 42,
  looks: 3,
  names: ["worker-1"],
  stack: [],
  ...change,
});

describe("WaitingTable", () => {
  it("lists what threads wait in", () => {
    render(
      <WaitingTable
        waiting={[wait({}), wait({ state: "D", call: "fsync", place: "jbd2_log_wait_commit", threads: 1, times: 3, stack: ["jbd2_log_wait_commit", "ext4_sync_file"] })]}
        more={2}
        marksSubject
      />,
    );
    const rows = within(screen.getByRole("table", { name: "Waiting threads of the capture" })).getAllByRole("row");
    expect(rows[1]?.textContent).toBe("lock or work (futex)futex_do_waitsleeping1414server (subject)");
    expect(rows[2]?.textContent).toBe("disk (fsync)jbd2_log_wait_commituninterruptible sleep11server (subject)");
    expect(screen.getByTitle(/ext4_sync_file/)).toBeTruthy();
    expect(screen.getByText("2 rarer ways to wait are not listed.")).toBeTruthy();
  });
});
