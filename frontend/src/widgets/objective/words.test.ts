import type { Objective } from "@/api/objectives";

import { draftOf, limitOf, originOf, problemOf, readable, shareOf, writtenOf } from "./words";

describe("an objective", () => {
  it("survives a round trip through the service's notation", () => {
    for (const text of ["p99<50ms", "p99.9<1.5s", "p50<2ms"]) expect(writtenOf(draftOf(text))).toBe(text);
    expect(draftOf(null)).toEqual({ quantile: "p99", amount: "", unit: "ms" });
    expect(draftOf("p98<5ms")).toEqual({ quantile: "p99", amount: "", unit: "ms" });
    expect([readable("p99<50ms"), readable("p99.9<1.5s"), shareOf("p99.9"), limitOf("p99<50ms")]).toEqual(["p99 < 50 ms", "p99.9 < 1.5 s", "99.9 %", "50 ms"]);
  });

  it("ranges from 1 ms to 999 s", () => {
    const of = (amount: string, unit: "ms" | "s" = "ms"): string | null => problemOf({ quantile: "p99", amount, unit });
    expect([of("50"), of(" 2.5 "), of("1"), of("999", "s"), of("0.25", "s")]).toEqual([null, null, null, null, null]);
    expect([of(""), of("fast"), of("-5"), of("1e3"), of("50ms")]).toEqual(Array.from({ length: 5 }, () => "Enter a time such as 50."));
    expect([of("0"), of("0.5"), of("1000", "s"), of("0", "s")]).toEqual(Array.from({ length: 4 }, () => "Enter a time from 1 ms to 999 s."));
  });

  it("names its origin", () => {
    const of = (values: Partial<Objective>): string => originOf(values as Objective);
    expect(of({ origin: "annotation", set_by: null })).toBe("From the pod's annotation jitterscope.io/objective");
    expect(of({ origin: "server", set_by: "Ada" })).toBe("Set for this port by Ada");
    expect(of({ origin: "workload", set_by: null })).toBe("Set for the whole workload");
  });
});
