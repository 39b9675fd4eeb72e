import { describe, expect, it } from "vitest";

import type { PodStart, StartupPart, StartupStack } from "@/api/startup";
import { minutesText } from "@/lib/time";

import { piecesOf, rows, scaleEnd, stackSentence, verdict } from "./pieces";
import { startupSearch } from "./search";

const part = (id: string, mean_us: number, more: Partial<StartupPart> = {}): StartupPart => ({
  id, title: id, inside: null, in_objective: true, operations: 10, mean_us, share_ratio: 0.1, p50_us: mean_us, p90_us: mean_us, p99_us: mean_us, ...more,
});

const parts = [
  part("sandbox", 4_500_000),
  part("cni", 4_200_000, { inside: "sandbox" }),
  part("verifier", 4_000_000, { inside: "cni", p99_us: 5_000_000 }),
  part("container", 350_000),
  part("rest", 1_200_000),
  part("image_pull", 9_000_000, { in_objective: false }),
];
const stack = (q: number, sandbox: number): StartupStack => ({
  q, start_us: sandbox + 1_550_000, parts: [{ id: "sandbox", us: sandbox }, { id: "container", us: 350_000 }, { id: "rest", us: 1_200_000 }],
});

const page = (more: Partial<PodStart> = {}): PodStart => ({
  from_us: 0, to_us: 1, node: null, nodes: [], objective_us: 5_000_000, basis: "sli", starts: { starts: 30, late: 27, p50_us: 6e6, p90_us: 6.4e6, p99_us: 7e6 },
  with_images: null, chance_ratio: 0, missed: true, parts, stacks: [stack(0.5, 4_500_000), stack(0.99, 4_400_000)], over_time: [], slowest: [], verifier: null, changes: [],
  kubelet: null, cilium: null, kernel: null, incidents: [], notes: [], ...more,
});

describe("the chart of a start", () => {
  it("has the phases in the order of a start, and the verifier inside the sandbox", () => {
    expect(piecesOf(stack(0.5, 4_500_000), parts).map((piece) => [piece.id, piece.verifierUs])).toEqual([["rest", 0], ["sandbox", 4_000_000], ["container", 0]]);
  });

  it("never draws more of the verifier than of the sandbox", () => {
    expect(piecesOf(stack(0.99, 4_400_000), parts).find((piece) => piece.id === "sandbox")?.verifierUs).toBe(4_400_000);
  });

  it("leaves room for the objective and for every bar", () => {
    expect(scaleEnd(page())).toBeGreaterThan(6_050_000);
    expect(scaleEnd(page({ stacks: [stack(0.5, 100_000)] }))).toBeGreaterThan(5_000_000);
  });

  it("is described in words, too", () => {
    expect(stackSentence(stack(0.5, 4_500_000), parts)).toBe("p50: 6,050 ms. rest 1,200 ms; sandbox 4,500 ms (4,000 ms in the verifier); container 350 ms.");
  });

  it("lists phases as a tree, image pulls last", () => {
    expect(rows(parts).map(({ part: one, depth }) => `${depth} ${one.id}`)).toEqual(["0 sandbox", "1 cni", "2 verifier", "0 container", "0 rest", "0 image_pull"]);
  });
});

describe("the verdict", () => {
  it("says whether the objective is met", () => {
    expect(verdict(page())).toBe("Objective missed: 27 of 30 pods took more than 5 s to start.");
    expect(verdict(page({ missed: false, starts: { starts: 30, late: 0, p50_us: 1e6, p90_us: 1e6, p99_us: 4_126_000 } }))).toBe("Objective met: 0 of 30 pods took more than 5 s to start, p99 4,126 ms.");
    expect(verdict(page({ starts: null }))).toBe("No pods started in this window.");
  });

  it("names the program that loads eBPF programs if pods wait for it", () => {
    const verifier = { command: "cilium-agent", waits: true, reason: null, sets: 30, loads: 240, per_start_us: 4e6, share_ratio: 0.66, programs: [] };
    const said = "The kernel verifies the programs of cilium-agent for 4,000 ms of each start";
    expect(verdict(page({ verifier }))).toContain(`${said} (66 %).`);
    expect(verdict(page({ verifier: { ...verifier, share_ratio: null } }))).toContain(`${said}. `);
  });
});

describe("the address", () => {
  it("keeps the window and drops everything else", () => {
    expect(startupSearch({ minutes: "360", node: "7", split: "12", to: "x" })).toEqual({ minutes: 360, node: 7, split: 12, to: undefined });
    expect(startupSearch({ minutes: "7" }).minutes).toBeUndefined();
    expect([15, 60, 1440].map(minutesText)).toEqual(["15 min", "1 h", "24 h"]);
  });
});
