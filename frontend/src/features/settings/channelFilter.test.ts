import { filterOf, formOf, inWords, NEW_FILTER, newQuietHours, patternsOf, problemOf, quietInWords, USUAL_ACTIONS } from "./channelFilter";

const NONE = { namespaces: [], causes: [], resources: [], nodes: [] };

describe("a channel's conditions", () => {
  it("have comma-separated patterns, each once", () => {
    expect(patternsOf(" kube-system,, team-* ,kube-system")).toEqual(["kube-system", "team-*"]);
    expect(patternsOf(" ")).toEqual([]);
  });

  it("survive a round trip through the form", () => {
    const quiet_hours = { ...newQuietHours("Europe/Berlin"), days: ["mon" as const] };
    const stored = { min_severity: "critical" as const, actions: ["opened" as const, "noted" as const], conditions: { ...NONE, causes: ["cpu/*", "dns/?"] }, quiet_hours };
    expect(filterOf(formOf(stored))).toEqual(stored);
    expect(filterOf(NEW_FILTER)).toEqual({ min_severity: "warning", actions: USUAL_ACTIONS, conditions: NONE, quiet_hours: null });
  });

  it("report what the server would refuse", () => {
    const quiet = newQuietHours("Europe/Berlin");
    const names = (count: number): string => Array.from({ length: count }, (_, n) => `n${n}`).join(",");
    expect(problemOf(NEW_FILTER)).toBeNull();
    expect(problemOf({ ...NEW_FILTER, quiet })).toBeNull();
    expect(problemOf({ ...NEW_FILTER, patterns: { ...NEW_FILTER.patterns, nodes: names(20) } })).toBeNull();
    expect(problemOf({ ...NEW_FILTER, patterns: { ...NEW_FILTER.patterns, nodes: names(21) } })).toBe("A list has at most 20 patterns.");
    expect(problemOf({ ...NEW_FILTER, quiet: { ...quiet, days: [] } })).toBe("Quiet hours need at least one start day.");
    expect(problemOf({ ...NEW_FILTER, quiet: { ...quiet, end: "" } })).toBe("Quiet hours need a start and an end.");
    expect(problemOf({ ...NEW_FILTER, quiet: { ...quiet, end: quiet.start } })).toContain("never end");
    expect(problemOf({ ...NEW_FILTER, quiet: { ...quiet, time_zone: "Europe/Atlantis" } })).toBe("There is no time zone Europe/Atlantis.");
  });

  it("have a text", () => {
    expect(inWords({ min_severity: "info", conditions: NONE })).toBe("All incidents");
    expect(inWords({ min_severity: "critical", conditions: { ...NONE, namespaces: ["kube-system"], causes: ["cpu/*", "dns/*"] } })).toBe(
      "Critical incidents with namespace kube-system, cause cpu/* or dns/*",
    );
    const quiet = newQuietHours("UTC");
    expect(quietInWords(quiet)).toBe("Quiet every day 22:00 to 07:00, UTC, except for critical incidents");
    expect(quietInWords({ ...quiet, days: ["mon", "tue", "wed"], critical_passes: false })).toBe("Quiet Mon to Wed 22:00 to 07:00, UTC");
    expect(quietInWords({ ...quiet, days: ["sat", "mon"], critical_passes: false })).toBe("Quiet Mon, Sat 22:00 to 07:00, UTC");
  });
});
