import { describe, expect, it } from "vitest";

import { stopsBetween } from "./stops";

describe("stopsBetween", () => {
  it("ascends, keeps required values, and stays between the ends", () => {
    const stops = stopsBetween(50, 20_000, [3_333]);
    expect(stops).toContain(3_333);
    expect(stops.every((stop, index) => index === 0 || stop > (stops[index - 1] ?? 0))).toBe(true);
    expect(Math.min(...stops)).toBeGreaterThanOrEqual(50);
    expect(Math.max(...stops)).toBeLessThanOrEqual(20_000);
  });
});
