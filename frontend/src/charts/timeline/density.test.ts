import { eachCell, emptyGrid, fillGrid, type Projection } from "./density";

const projection: Projection = { fromUs: 0, toUs: 1000, lowLog: 2, highLog: 5, widthPx: 100, heightPx: 30 };

describe("the density grid", () => {
  it("counts every dot once, also those beyond the latency range", () => {
    const grid = emptyGrid(100, 30, 2);
    const t = Float64Array.of(0, 1, 500, 999, 999);
    const logs = Float32Array.of(2, 2, 3.5, 9, -1);
    fillGrid(grid, t, logs, [0, 5], projection, () => true);
    expect(grid.counts.reduce((sum, n) => sum + n, 0)).toBe(5);
  });

  it("leaves out what lies outside the view in time, and what is drawn otherwise", () => {
    const grid = emptyGrid(100, 30, 2);
    fillGrid(grid, Float64Array.of(-1, 1000, 500), Float32Array.of(3, 3, 3), [0, 3], projection, () => true);
    expect(grid.counts.reduce((sum, n) => sum + n, 0)).toBe(1);
    const none = emptyGrid(100, 30, 2);
    fillGrid(none, Float64Array.of(500), Float32Array.of(3), [0, 1], projection, () => false);
    expect(Math.max(...none.counts)).toBe(0);
  });

  it("draws at most one mark a cell for 100,000 dots", () => {
    const n = 100_000;
    const grid = emptyGrid(1200, 250, 2);
    const t = Float64Array.from({ length: n }, (_, i) => (i / n) * 1000);
    const logs = Float32Array.from({ length: n }, (_, i) => 2.3 + ((i * 7919) % 1000) / 4000);
    fillGrid(grid, t, logs, [0, n], projection, () => true);
    let drawn = 0;
    eachCell(grid, 1, 65_535, () => {
      drawn += 1;
    });
    expect(grid.counts.reduce((sum, count) => sum + count, 0)).toBe(n);
    expect(drawn).toBeLessThanOrEqual(grid.columns * grid.rows);
    expect(drawn).toBeLessThan(n / 2);
  });
});
