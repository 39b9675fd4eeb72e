import { emptyGrid, fillGrid, paintGrid, stamp, type Pixels, type Projection } from "./density";

const projection: Projection = { fromUs: 0, toUs: 1000, lowLog: 2, highLog: 5 };
const blank = (width: number, height: number): Pixels => ({ width, height, colors: new Uint32Array(width * height) });
const painted = ({ width, colors }: Pixels): string[] => [...colors].flatMap((color, i) => (color === 0 ? [] : [`${i % width},${Math.floor(i / width)}=${color}`]));

describe("the density grid", () => {
  it("counts every dot once, including those beyond the latency range", () => {
    const grid = emptyGrid(100, 30, 2);
    const t = Float64Array.of(0, 1, 500, 999, 999);
    const logs = Float32Array.of(2, 2, 3.5, 9, -1);
    fillGrid(grid, t, logs, [0, 5], projection, new Uint8Array(5));
    expect(grid.counts.reduce((sum, n) => sum + n, 0)).toBe(5);
  });

  it("leaves out dots outside the view, and those drawn in another way", () => {
    const grid = emptyGrid(100, 30, 2);
    fillGrid(grid, Float64Array.of(-1, 1000, 500), Float32Array.of(3, 3, 3), [0, 3], projection, new Uint8Array(3));
    expect(grid.counts.reduce((sum, n) => sum + n, 0)).toBe(1);
    const none = emptyGrid(100, 30, 2);
    fillGrid(none, Float64Array.of(500), Float32Array.of(3), [0, 1], projection, Uint8Array.of(1));
    expect(Math.max(...none.counts)).toBe(0);
  });

  it("is painted cell by cell, stronger with more dots, and clipped at the edge", () => {
    const grid = emptyGrid(5, 2, 2);
    grid.counts.set([1, 3, 4]);
    const pixels = blank(5, 2);
    paintGrid(grid, 2, pixels, [7, 8, 9]);
    expect([...pixels.colors]).toEqual([7, 7, 8, 8, 9, 7, 7, 8, 8, 9]);
  });
});

describe("a mark", () => {
  it("is a diamond or a cross around its pixel, clipped at an edge", () => {
    const pixels = blank(3, 3);
    stamp(pixels, 1, 1, 1, false, 4);
    expect(painted(pixels)).toEqual(["1,0=4", "0,1=4", "1,1=4", "2,1=4", "1,2=4"]);
    const cross = blank(3, 3);
    stamp(cross, 1, 1, 1, true, 5);
    expect(painted(cross)).toEqual(["0,0=5", "2,0=5", "1,1=5", "0,2=5", "2,2=5"]);
    const corner = blank(2, 2);
    stamp(corner, 0, 0, 1, false, 6);
    expect(painted(corner)).toEqual(["0,0=6", "1,0=6", "0,1=6"]);
  });
});
