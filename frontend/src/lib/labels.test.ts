import { inUnit } from "./format";
import { labelsText, splitLabels, unitOf } from "./labels";

describe("labels", () => {
  it("are distinguished by the labels that differ", () => {
    const { common, own } = splitLabels([
      { job: "dns", zone: ".", node: "a" },
      { job: "dns", zone: ".", node: "b" },
      { job: "dns", zone: "." },
    ]);
    expect(labelsText(common)).toBe('job="dns", zone="."');
    expect(own.map(labelsText)).toEqual(['node="a"', 'node="b"', ""]);
  });

  it("are all specific to a single set", () => {
    expect(splitLabels([{ job: "dns" }])).toEqual({ common: {}, own: [{ job: "dns" }] });
    expect(splitLabels([])).toEqual({ common: {}, own: [] });
  });

  it("have values in the view's unit", () => {
    expect(inUnit(0.0525, unitOf("s", "quantiles"))).toBe("52.5 ms");
    expect(inUnit(2048, unitOf("bytes", "rate"))).toBe("2 KiB/s");
    expect(inUnit(6.6667, unitOf("1", "rate"))).toBe("6.67/s");
    expect(inUnit(0.25, unitOf("s", "rate"))).toBe("250 ms/s");
    expect(inUnit(0.5, "ratio")).toBe("50 %");
    expect(inUnit(null, "1/s")).toBe("–");
  });
});
