import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { vi } from "vitest";

import { fromWallTime, toWallTime } from "@/lib/wallTime";

import { problemOf, RangePicker, rangeText } from "./RangePicker";

const NOON_US = Date.UTC(2026, 10, 24, 12) * 1000;

describe("wall times", () => {
  it("are parsed as displayed, in both zones", () => {
    for (const zone of ["utc", "local"] as const) expect(fromWallTime(toWallTime(NOON_US, zone), zone)).toBe(NOON_US);
    expect(toWallTime(NOON_US, "utc")).toBe("2026-11-24T12:00:00");
    expect(fromWallTime("", "utc")).toBeNull();
    expect(fromWallTime("2026-13-45T99:00", "utc")).toBeNull();
  });

  it("say the zone, and the date once", () => {
    expect(rangeText({ fromUs: NOON_US, toUs: NOON_US + 3_600_000_000 }, "utc")).toBe("2026-11-24 12:00 to 13:00 UTC");
    expect(rangeText({ fromUs: NOON_US, toUs: NOON_US + 43_201_000_000 }, "utc")).toBe("2026-11-24 12:00:00 to 2026-11-25 00:00:01 UTC");
  });
});

describe("RangePicker", () => {
  it("refuses what the server would, with the reason", () => {
    expect(problemOf(null, 1, 60)).toMatch(/^Enter both/);
    expect(problemOf(2, 1, 60)).toMatch(/ends before/);
    expect(problemOf(0, 3_600_000_001, 60)).toMatch(/longer than 1 h/);
    expect(problemOf(0, 3_600_000_000, 60)).toBeNull();
  });

  it("takes absolute times in the zone that it shows", async () => {
    const onRange = vi.fn();
    render(<RangePicker choices={[60]} minutes={60} range={null} zone="utc" longestMinutes={1440} nowUs={NOON_US} onMinutes={vi.fn()} onRange={onRange} onZone={vi.fn()} />);
    await userEvent.click(screen.getByRole("button", { name: "Absolute times" }));
    expect(screen.getByLabelText("From, UTC")).toHaveValue("2026-11-24T11:00");
    await userEvent.click(screen.getByRole("button", { name: "Show range" }));
    expect(onRange).toHaveBeenCalledWith({ fromUs: NOON_US - 3_600_000_000, toUs: NOON_US });
  });
});
