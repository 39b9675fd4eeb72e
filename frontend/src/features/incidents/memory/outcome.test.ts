import { describe, expect, it } from "vitest";

import type { MemoryPrediction } from "@/api/whatifMemory";

import { outcomeText, peakText } from "./outcome";

const MIB = 2 ** 20;

function prediction(over: Partial<MemoryPrediction>): MemoryPrediction {
  return { max_concurrent: null, limit_bytes: 170 * MIB, replicas: 1, waiting: null, outcome: "killed", seconds_to_oom: null, peak_bytes: null, ...over };
}

const interval = (low: number, expected: number, high: number): { low: number; expected: number; high: number; level: number } => ({ low, expected, high, level: 0.9 });

describe("outcomeText", () => {
  it("says when a kill comes", () => {
    expect(outcomeText(prediction({ seconds_to_oom: interval(1.84, 2.1, 2.46) }))).toBe("killed after 1.8 to 2.5 s");
  });
  it("says that it is not certain", () => {
    expect(outcomeText(prediction({ outcome: "may_be_killed", seconds_to_oom: interval(4, 5, 6) }))).toBe("may be killed, at the earliest after 4 to 6 s");
  });
  it("says that no kill comes", () => {
    expect(outcomeText(prediction({ outcome: "survives" }))).toBe("survives");
  });
});

describe("peakText", () => {
  it("gives a range, or none", () => {
    expect(peakText(prediction({ peak_bytes: interval(84 * MIB, 100 * MIB, 190 * MIB) }))).toBe("84 to 190 MiB");
    expect(peakText(prediction({}))).toBe("without end");
  });
});
