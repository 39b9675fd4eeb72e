import { model, T0, TICK } from "./fixtures";
import { openingView } from "./opening";

const S = 1_000_000;
const quiet = model({ cpus: Array.from({ length: 600 }, () => 0.1) });
const stallsAt = (...seconds: number[]): typeof quiet => ({
  ...quiet,
  throttled: seconds.map((at) => ({ fromUs: T0 + at * S - 70_000, toUs: T0 + at * S, stoppedUs: 70_000, periods: 1 })),
});

describe("openingView", () => {
  it("shows the first stalls from the onset on, with calm before and after them", () => {
    const view = openingView(stallsAt(10, 30, 30.1, 30.2, 45), T0 + 30 * S, null);
    expect(view).toEqual({ fromUs: T0 + 30 * S - 70_000 - 1.5 * S, toUs: T0 + 30.2 * S + 1.5 * S });
  });

  it("shows the start of stalls that do not end", () => {
    const endless = Array.from({ length: 400 }, (_, i) => 10 + i / 10);
    const view = openingView(stallsAt(...endless), T0 + 10 * S, null);
    expect(view.toUs - view.fromUs).toBe(20 * S);
    expect(view.fromUs).toBe(T0 + 10 * S - 70_000 - 5 * S);
  });

  it("shows the span of the evidence without throttling", () => {
    expect(openingView(quiet, T0 + 5 * S, { fromUs: T0 + 20 * S, toUs: T0 + 24 * S })).toEqual({ fromUs: T0 + 18 * S, toUs: T0 + 26 * S });
    expect(openingView(quiet, T0 + 5 * S, { fromUs: T0, toUs: T0 + 60 * S })).toEqual({ fromUs: T0 + 3.5 * S, toUs: T0 + 6.5 * S + 1 });
  });

  it("stays inside the recording", () => {
    const view = openingView(stallsAt(59.9), T0 + 59.9 * S, null);
    expect(view.toUs).toBe(T0 + 600 * TICK);
    expect(openingView(quiet, T0 - 100 * S, null)).toEqual({ fromUs: T0 + 28.5 * S, toUs: T0 + 31.5 * S + 1 });
  });
});
