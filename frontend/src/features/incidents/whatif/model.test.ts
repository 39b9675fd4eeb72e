import type { ModelAnswer, WhatIfModel } from "@/api/whatif";

import { figureText, formatIn, isSame, stopsOf } from "./model";

const figure = (value: number | null, interval: ModelAnswer["figures"][number]["interval"] = null): ModelAnswer["figures"][number] => ({ id: "x", title: "X", unit: "ms", value, interval });

describe("a model drawn from its description", () => {
  it("reads values and intervals in their unit", () => {
    expect(figureText(figure(1.5))).toBe("1.5 ms");
    expect(figureText(figure(null, { low: 1, expected: 2, high: 3, level: 0.9 }))).toBe("1 to 3 ms");
    expect(figureText(figure(null))).toBe("–");
    expect(formatIn("%")(50)).toBe("50 %");
  });

  it("stops at sensible and at suggested values", () => {
    const control: WhatIfModel["controls"][number] = { id: "cap", title: "Cap", unit: "1", least: 1, most: 1e7, choices: [], hint: "", off: "" };
    const answer = { ranges: { cap: { least: 50, most: 2000 } }, suggestions: [{ title: "Cap 777", settings: { cap: 777 } }] } as unknown as ModelAnswer;
    const stops = stopsOf(control, answer);
    expect([stops[0], stops.at(-1)]).toEqual([50, 2000]);
    expect(stops).toContain(777);
  });

  it("recognizes equal settings", () => {
    expect(isSame({}, { cap: null })).toBe(true);
    expect(isSame({ names: ["a"] }, { names: ["a"] })).toBe(true);
    expect(isSame({ cap: 1 }, {})).toBe(false);
  });
});
