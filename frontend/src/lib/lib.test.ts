import { bytes, count, cpus, inUnit, measure, measureRange, microseconds, milliseconds, percent, significant } from "./format";
import { formatView, parseView } from "./search";
import { sentence, unbroken } from "./text";
import { ago, clock, dateTime, duration, parseUs, toRfc3339 } from "./time";
import { tickLabel, tickPositions, tickStep } from "./timeTicks";
import { clampView, covers, detailTile, panBy, span, zoomAround } from "./timeView";

describe("time", () => {
  it("keeps microseconds through text", () => {
    const us = parseUs("2026-11-21T10:49:04.219811Z");
    expect(us % 1_000_000).toBe(219_811);
    expect(toRfc3339(us)).toBe("2026-11-21T10:49:04.219811Z");
    expect(parseUs("2026-11-21T12:49:04.219811+02:00")).toBe(us);
    expect(() => parseUs("yesterday")).toThrow("RFC 3339");
  });

  it("shows clocks in UTC with the requested digits", () => {
    const us = parseUs("2026-11-21T10:49:04.219811Z");
    expect(clock(us, 2, "utc")).toBe("10:49:04.21");
    expect(dateTime(us, "utc")).toBe("2026-11-21 10:49:04");
  });

  it.each([
    [86, "86 µs"],
    [2_300, "2.3 ms"],
    [420_000, "420 ms"],
    [4_500_000, "4.5 s"],
    [360_000_000, "6 min"],
    [7_200_000_000, "2 h"],
  ])("says %d µs as %s", (us, text) => expect(duration(us)).toBe(text));

  it("says how long ago", () => {
    expect(ago(0, 2_000_000)).toBe("just now");
    expect(ago(0, 5_700_000)).toBe("5 s ago");
    expect(ago(0, 59_700_000)).toBe("59 s ago");
    expect(ago(0, 360_000_000)).toBe("6 min ago");
  });
});

describe("figures", () => {
  it("have units and the precision that a decision needs", () => {
    expect(percent(0.0254)).toBe("2.5 %");
    expect(percent(0)).toBe("0 %");
    expect(percent(0.00001)).toBe("< 0.01 %");
    expect(milliseconds(60.44)).toBe("60.4 ms");
    expect(milliseconds(0.2249)).toBe("0.22 ms");
    expect(microseconds(310)).toBe("310 µs");
    expect(microseconds(0.6)).toBe("0.6 µs");
    expect(cpus(0.2249)).toBe("0.22 CPU");
    expect(bytes(536_870_912)).toBe("512 MiB");
    expect(count(1012)).toBe("1,012");
    expect(significant(1.5)).toBe("1.5");
    expect(significant(999.7)).toBe("1,000");
    expect(significant(-999.7)).toBe("-1,000");
    expect(inUnit(2_000, "us")).toBe("2 ms");
  });

  it("never show a missing value as zero", () => {
    for (const show of [percent, milliseconds, microseconds, cpus, bytes, count]) {
      expect(show(null)).toBe("–");
      expect(show(NaN)).toBe("–");
    }
  });
});

describe("views", () => {
  const extent = { fromUs: 0, toUs: 10_000_000 };

  it("zooms around the anchor and back", () => {
    const view = zoomAround(extent, 0.1, 4_000_000, extent);
    expect(span(view)).toBe(1_000_000);
    expect((4_000_000 - view.fromUs) / span(view)).toBeCloseTo(0.4);
    expect(zoomAround(view, 1000, 4_000_000, extent)).toEqual(extent);
  });

  it("stops at two of the finest ticks and at the ends", () => {
    expect(span(zoomAround(extent, 1e-9, 5_000_000, extent))).toBe(20_000);
    expect(panBy({ fromUs: 0, toUs: 100_000 }, -1e9, extent)).toEqual({ fromUs: 0, toUs: 100_000 });
    expect(clampView({ fromUs: 9_950_000, toUs: 10_050_000 }, extent)).toEqual({ fromUs: 9_900_000, toUs: 10_000_000 });
  });

  it("loads detail in tiles that cover the view and serve small pans", () => {
    const view = { fromUs: 4_100_000, toUs: 5_100_000 };
    const tile = detailTile(view, extent);
    expect(covers(tile, view)).toBe(true);
    expect(detailTile(panBy(view, 10_000, extent), extent)).toEqual(tile);
    // The server has 10 ms ticks for windows of at most 30 s.
    expect(span(detailTile({ fromUs: 0, toUs: 2_000_000 }, { fromUs: -1e9, toUs: 1e9 }))).toBeLessThan(30_000_000);
  });

  it("go through the URL unchanged, and nonsense is ignored", () => {
    const view = { fromUs: 1_795_250_659_747_473, toUs: 1_795_250_659_847_473 };
    expect(parseView(formatView(view))).toEqual(view);
    for (const text of [undefined, "", "5", "9-5", "a-b", "1-2-3"]) expect(parseView(text)).toBeNull();
  });
});

describe("time axis", () => {
  it("chooses round steps and labels them as precisely as needed", () => {
    expect(tickStep(4_500_000, 9)).toBe(500_000);
    expect(tickStep(360_000_000, 8)).toBe(60_000_000);
    const at = parseUs("2026-11-21T10:49:04.200000Z");
    expect(tickLabel(at, 100_000)).toMatch(/:04\.2$/);
    expect(tickPositions({ fromUs: at, toUs: at + 1_000_000 }, 500_000)).toHaveLength(2);
  });
});

describe("measures", () => {
  it("says the unit of a range once", () => {
    expect(measureRange(0, 420, "ms/min")).toBe("0 to 420 ms/min");
    expect(measureRange(0.001, 0.02, "ratio")).toBe("0.1 to 2 %");
    expect(measureRange(900, 12_000, "ms")).toBe("900 ms to 12 s");
    expect(measureRange(4, 4, "1/min")).toBe("4/min");
    expect(measure(null, "ratio")).toBe("–");
  });
});

describe("sentence", () => {
  it("spells acronyms correctly", () => {
    expect(["tcp_server", "dns_path", "gc_cycles", "cpu_usage", "coredns_proxy", "gcc"].map(sentence)).toEqual(["TCP server", "DNS path", "GC cycles", "CPU usage", "Coredns proxy", "Gcc"]);
  });
});

describe("running text", () => {
  it("does not break between a figure and its unit", () => {
    expect(unbroken("over 20 ms in 5 s, 44 % of 0.5 CPU")).toBe("over 20\u00a0ms in 5\u00a0s, 44\u00a0% of 0.5\u00a0CPU");
    expect(unbroken("30 of 30 pods, 4 servers, 2 msgs")).toBe("30 of 30 pods, 4 servers, 2 msgs");
  });
});
