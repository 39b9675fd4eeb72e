import { onChartKey, type KeyState } from "./keyboard";

const state: KeyState = { view: { fromUs: 1_000_000, toUs: 2_000_000 }, extent: { fromUs: 0, toUs: 10_000_000 }, cursorUs: 1_450_000, selection: null, stepUs: 100_000 };

describe("keys of the timeline", () => {
  it("moves the cursor tick by tick", () => {
    expect(onChartKey("ArrowRight", false, state)).toEqual({ cursorUs: 1_550_000 });
    expect(onChartKey("ArrowLeft", false, state)).toEqual({ cursorUs: 1_350_000 });
  });

  it("starts in the middle and follows the cursor out of the view", () => {
    expect(onChartKey("ArrowRight", false, { ...state, cursorUs: null })?.cursorUs).toBe(1_550_000);
    const out = onChartKey("ArrowRight", false, { ...state, cursorUs: 1_950_000 });
    expect(out?.cursorUs).toBe(2_050_000);
    expect(out?.view).toEqual({ fromUs: 1_500_000, toUs: 2_500_000 });
  });

  it("never leaves the recording", () => {
    expect(onChartKey("ArrowLeft", false, { ...state, cursorUs: 50_000 })?.cursorUs).toBe(0);
    expect(onChartKey("End", false, state)?.view).toEqual({ fromUs: 9_000_000, toUs: 10_000_000 });
    expect(onChartKey("-", false, { ...state, view: state.extent })?.view).toEqual(state.extent);
  });

  it("zooms around the cursor", () => {
    const view = onChartKey("+", false, state)?.view;
    expect(view).toEqual({ fromUs: 1_225_000, toUs: 1_725_000 });
  });

  it("selects the tick, and extends the selection with Shift", () => {
    expect(onChartKey("Enter", false, state)?.selection).toEqual({ fromUs: 1_400_000, toUs: 1_500_000 });
    const grown = onChartKey("Enter", true, { ...state, selection: { fromUs: 1_100_000, toUs: 1_200_000 } });
    expect(grown?.selection).toEqual({ fromUs: 1_100_000, toUs: 1_500_000 });
  });

  it("leaves other keys, and Escape when there is nothing to clear, to the page", () => {
    expect(onChartKey("x", false, state)).toBeNull();
    expect(onChartKey("Escape", false, { ...state, cursorUs: null })).toBeNull();
    expect(onChartKey("Escape", false, state)).toEqual({ selection: null, cursorUs: null });
  });
});
