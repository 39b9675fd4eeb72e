import type { FleetContainer } from "@/api/fleet";

import { coverageText, notKnownText, openCount, openText, silenceText, throttledText, watchingText, wayText } from "./words";

const fleet = (compared: number, timed: number, more: { found?: number; timed_is_least?: boolean } = {}): string => coverageText({ compared, timed, found: compared, timed_is_least: false, ...more });

const container = (id: number, peak: number | null, throttledUs?: number): FleetContainer => ({
  id,
  kind: "cgroup",
  key: `/${id}`,
  name: `${id}`,
  node: { id: 1, kind: "node", key: "m", name: "node-1" },
  namespace: null,
  pod: null,
  container: null,
  cpu_limit: null,
  cpu_peak: peak,
  throttled_us: throttledUs ?? null,
  worst_tick: throttledUs === undefined ? null : { at_us: 0, span_us: 100_000, throttled_us: throttledUs },
});

function watched(containers: readonly FleetContainer[], more: { compared?: number; found?: number } = {}): [string, number | null] | null {
  const told = watchingText({ compared: containers.length, found: more.compared ?? containers.length, ...more, containers: [...containers] });
  return told && [told.text, told.container?.id ?? null];
}

describe("the sentences of Home", () => {
  it("say how a change was made", () => {
    const resource = { id: 1, kind: "process", key: "41:1", name: "api" } as const;
    expect(wayText({ kind: "config", rollout: false, resource })).toBe("in place");
    expect(wayText({ kind: "deploy", rollout: true, resource })).toBe("restart");
    expect(wayText({ kind: "deploy", rollout: true, resource: { ...resource, kind: "cgroup" } })).toBe("rollout");
    expect(wayText({ kind: "scale", rollout: false, resource })).toBe("scaled");
    expect(wayText({ kind: "other", rollout: false, resource })).toBeNull();
  });

  it("say what is watched and what was worst, as far as it was measured", () => {
    expect(watched([container(1, 0.2, 42_000), container(2, 0.9)])).toEqual(["Watching 2 containers. Worst 100 ms of the last hour: 42 ms throttled in", 1]);
    expect(watched([container(1, 0.2), container(2, 0.9)])).toEqual(["Watching 2 containers. Highest 100 ms of the last hour: 0.9 CPU in", 2]);
    expect(watched([container(1, null)])).toEqual(["Watching 1 container.", null]);
    expect(watched([container(1, 0.2)], { compared: 500 })).toEqual(["Watching 500 containers.", null]);
    expect(watched([container(1, 0.2, 42_000)], { compared: 1000, found: 1312 })).toEqual(["Watching 1,312 containers. Worst 100 ms of the last hour in the 1,000 checked: 42 ms throttled in", 1]);
    expect(watched([])).toBeNull();
  });

  it("count by severity", () => {
    const counts = [
      { severity: "critical" as const, incidents: 2 },
      { severity: "info" as const, incidents: 1 },
    ];
    expect([openText({ counts }), openCount({ counts })]).toEqual(["2 critical, 1 info", 3]);
    expect(openText({ counts: [] })).toBeNull();
  });

  it("say how many containers have timed answers, and never that the others are healthy", () => {
    expect(fleet(18, 3)).toBe("Answers of 3 of 18 containers were timed in the last hour. For the others, harm to clients is not measured.");
    expect(fleet(18, 0)).toBe("Answers of 0 of 18 containers were timed in the last hour: harm to clients is not measured.");
    expect(fleet(1, 1)).toBe("Answers of the only container were timed in the last hour.");
    expect(fleet(18, 18)).toBe("Answers of all 18 containers were timed in the last hour.");
    expect(fleet(1000, 40, { found: 1312, timed_is_least: true })).toBe("Answers of at least 40 of the 1,000 containers checked (1,312 seen) were timed in the last hour. For the others, harm to clients is not measured.");
    expect(fleet(0, 0)).toBe("No containers were seen in the last 5 min.");
  });

  it("say which collectors are silent", () => {
    expect(silenceText({ found: 2, silent: 0 })).toBe("");
    expect(silenceText({ found: 3, silent: 1 })).toBe("1 of 3 collectors is silent: nothing is measured now on its node.");
    expect(silenceText({ found: 3, silent: 2 })).toBe("2 of 3 collectors are silent: nothing is measured now on their nodes.");
    expect(silenceText({ found: 1, silent: 1 })).toBe("The only collector is silent: nothing is measured now.");
    expect(silenceText({ found: 2, silent: 2 })).toBe("All 2 collectors are silent: nothing is measured now.");
  });

  it("do not call incidents of silent nodes over", () => {
    expect(notKnownText({ not_known: 0 })).toBe("");
    expect(notKnownText({ not_known: 1 })).toBe("Whether 1 incident of a silent node goes on is not known.");
    expect(notKnownText({ not_known: 2 })).toBe("Whether 2 incidents of silent nodes go on is not known.");
  });

  it("distinguish not throttled from not measured", () => {
    expect(throttledText({ compared: 18, throttled: 3, unmeasured: 0 })).toBe("3 of 18 containers were throttled in the last hour.");
    expect(throttledText({ compared: 18, throttled: 0, unmeasured: 2 })).toBe("0 of 16 containers were throttled in the last hour. Throttling is not measured in 2 others.");
    expect(throttledText({ compared: 2, throttled: 0, unmeasured: 2 })).toBe("Throttling is not measured in any of 2 containers.");
  });
});
