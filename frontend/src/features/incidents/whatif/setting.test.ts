import type { Schemas } from "@/api/client";
import type { Setting } from "@/api/whatif";

import { applied, changeOfFix, changeText, difference, formatChange, parseChange } from "./setting";

type FixSetting = Schemas["FixSetting"];

const recorded: Setting = { cpu_limit: 0.5, period_us: 100_000, burst_us: 0, gomaxprocs: 2, gogc: 100, gomemlimit_bytes: null, replicas: 1 };

describe("a setting to try", () => {
  it("applies the change and keeps the rest", () => {
    expect(applied(recorded, { cpu_limit: 2, gogc: null })).toEqual({ ...recorded, cpu_limit: 2, gogc: null });
    // For parameters without a meaning for null, null is the same as leaving them out.
    expect(applied(recorded, { period_us: null, gomaxprocs: null })).toEqual(recorded);
  });

  it("never bursts above the quota, nor without one", () => {
    expect(applied(recorded, { burst_us: 90_000 }).burst_us).toBe(50_000);
    expect(applied(recorded, { burst_us: 90_000, cpu_limit: null }).burst_us).toBe(0);
  });

  it("sends only what differs", () => {
    expect(difference(recorded, applied(recorded, { cpu_limit: 0.5, gomaxprocs: 1 }))).toEqual({ gomaxprocs: 1 });
    expect(difference(recorded, recorded)).toEqual({});
  });

  it("has a text and fits in a link", () => {
    const change = { cpu_limit: null, burst_us: 50_000, gomemlimit_bytes: 2 ** 29, replicas: 1.5 };
    expect(changeText(change)).toBe("CPU limit no limit, Burst 50 ms, GOMEMLIMIT 512 MiB, Replicas 1.5 ×");
    expect(parseChange(formatChange(change))).toEqual(change);
    expect(formatChange({})).toBeUndefined();
    expect(parseChange("cpu_limit:x,gomaxprocs:off,burst_us:-1,foo:1,period_us:50000")).toEqual({ period_us: 50_000 });
  });

  it("starts from the settings of an incident's fixes", () => {
    const nothing = { cpu_limit: null, period_us: null, burst_us: null, gomaxprocs: null, gogc: null, gomemlimit_bytes: null, replicas: null };
    const change = (setting: Partial<FixSetting> | null): unknown => changeOfFix({ setting: setting === null ? null : { ...nothing, ...setting } }, recorded);
    expect(change({ cpu_limit: 1.25 })).toEqual({ cpu_limit: 1.25 });
    expect(change({ burst_us: 50_000 })).toEqual({ burst_us: 50_000 });
    expect(change({ gogc: "off", gomemlimit_bytes: 450 * 2 ** 20 })).toEqual({ gogc: null, gomemlimit_bytes: 450 * 2 ** 20 });
    expect(change({ gogc: 100, gomemlimit_bytes: "off" })).toEqual({ gogc: 100, gomemlimit_bytes: null });
    expect(change({ replicas: 2 })).toEqual({ replicas: 2 });
    expect(change(null)).toBeNull();
    expect(change({})).toBeNull();
    expect(changeOfFix({ setting: { ...nothing, gomaxprocs: 1 } }, recorded)).toEqual({ gomaxprocs: 1 });
    expect(changeOfFix({ setting: { ...nothing, gomaxprocs: 1 } }, { ...recorded, gomaxprocs: null })).toBeNull();
  });
});
