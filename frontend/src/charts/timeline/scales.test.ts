import { model } from "./fixtures";
import { cpuTop, decades, latencyRange, roundUp } from "./scales";

describe("scales", () => {
  it("rounds up to readable tops", () => {
    expect(roundUp(0.9)).toBeCloseTo(1);
    expect(roundUp(1.3)).toBeCloseTo(1.5);
    expect(roundUp(41)).toBeCloseTo(50);
    expect(roundUp(0)).toBe(1);
  });

  it("keeps the limit in the CPU lane with room for its label", () => {
    expect(cpuTop(model({ cpus: [0.1, 0.2], limit: 0.5 }))).toBeGreaterThan(0.55);
    expect(cpuTop(model({ cpus: [0.95], limit: 0.5 }))).toBeGreaterThanOrEqual(0.95);
  });

  it("does not flatten the bars under a limit far above them", () => {
    expect(cpuTop(model({ cpus: [0.05], limit: 64 }))).toBeLessThan(0.1);
  });

  it("fits all answers and the slow threshold into the latency lane", () => {
    const range = latencyRange(model({ cpus: [0.1], answers: [{ atUs: 1, latencyUs: 120 }, { atUs: 2, latencyUs: 900 }] }));
    expect(10 ** range.lowLog).toBeLessThanOrEqual(120);
    expect(10 ** range.highLog).toBeGreaterThan(20_000);
    expect(decades(range.lowLog, range.highLog)).toContain(1000);
    expect(latencyRange(model({ cpus: [0.1] }))).toEqual({ lowLog: 2, highLog: 5 });
  });
});
