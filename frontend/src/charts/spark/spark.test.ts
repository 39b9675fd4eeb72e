import { bars, commonScale, cpuScale, heightOf, stretches } from "./spark";

const SCALE = { low: 100, high: 1_000_000 };

describe("heightOf", () => {
  it("places values on a log scale and clamps them to its ends", () => {
    expect([100, 10_000, 1_000_000].map((value) => heightOf(value, SCALE))).toEqual([0, 0.5, 1]);
    expect([0, 5_000_000].map((value) => heightOf(value, SCALE))).toEqual([0, 1]);
  });
});

describe("bars", () => {
  it("leaves a gap if nothing was recorded", () => {
    const found = bars([10_000, null, 1_000_000], SCALE, 90);
    expect(found.map(({ x, value }) => [x, value])).toEqual([
      [0, 10_000],
      [2 / 3, 1_000_000],
    ]);
  });

  it("keeps the highest of the values that share a bar", () => {
    const values = Array.from({ length: 1440 }, (_, minute) => (minute === 700 ? 90_000 : 1000));
    const found = bars(values, SCALE, 90);
    expect(found).toHaveLength(90);
    expect(found.filter(({ value }) => value === 90_000)).toHaveLength(1);
  });

  it("has none if nothing is known", () => {
    expect(bars([null, null], SCALE, 90)).toEqual([]);
    expect(bars([], SCALE, 90)).toEqual([]);
  });
});

describe("commonScale", () => {
  it("covers the highest value of all rows, and at least 0.1 s", () => {
    expect(commonScale([[null, 900], [2_500_000]])).toEqual({ low: 100, high: 10_000_000 });
    expect(commonScale([[500], []])).toEqual({ low: 100, high: 100_000 });
  });
});

describe("stretches", () => {
  it("joins adjacent marks", () => {
    expect(stretches([true, true, false, true])).toEqual([
      [0, 0.5],
      [0.75, 1],
    ]);
    expect(stretches([])).toEqual([]);
  });
});

describe("cpuScale", () => {
  it("has room for the highest value and the highest limit", () => {
    expect(cpuScale([{ values: [null, 0.7], threshold: 2 }])).toEqual({ low: 0.01, high: 10 });
    expect(cpuScale([{ values: [], threshold: null }])).toEqual({ low: 0.01, high: 1 });
  });
});
