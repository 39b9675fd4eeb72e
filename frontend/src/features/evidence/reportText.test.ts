import { describe, expect, it } from "vitest";

import { cellText, grouped, isNumeric, positionText, valueText } from "./reportText";

describe("cells", () => {
  it("aligns figures right, text and mixed columns left", () => {
    const rows = [
      ["a.example.", 1, null],
      ["b.example.", 2.5, 4],
    ];
    expect([0, 1, 2].map((column) => isNumeric(rows, column))).toEqual([false, true, true]);
    expect(isNumeric([], 0)).toBe(false);
  });

  it("keeps four digits and says what is missing", () => {
    expect([cellText(0.000204), cellText(31.4961), cellText(537118), cellText(null), cellText("PID")]).toEqual(["0.000204", "31.5", "537,118", "–", "PID"]);
  });
});

describe("axes", () => {
  it("names the unit of a value", () => {
    expect(valueText(952_000, "us")).toBe("952 ms");
    expect(valueText(21, "1")).toBe("21");
    expect(valueText(520, "1/s")).toBe("520/s");
    expect(valueText(13.33, "%")).toBe("13.3 %");
    expect(valueText(null, "us")).toBe("–");
  });

  it("shows times of day without a date as in the file, regardless of the browser's zone", () => {
    expect(positionText((8 * 3600 + 8 * 60 + 30.9) * 1e6, "clock")).toBe("08:08:30.9");
    expect(positionText(1500, "queries/s")).toBe("1,500/s");
    expect(positionText(3, "screen")).toBe("screen 3");
  });
});

describe("verdicts", () => {
  it("groups causes that lack data for the same reason, in order", () => {
    const lack = (cause: string, reason: string) => ({ kind: "not_enough_data" as const, cause, reason, missing: [] });
    expect(grouped([lack("a", "x"), lack("b", "y"), lack("c", "x")])).toEqual([
      { reason: "x", causes: ["a", "c"] },
      { reason: "y", causes: ["b"] },
    ]);
  });
});
