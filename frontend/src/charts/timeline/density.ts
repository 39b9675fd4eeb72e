/** Turns any number of dots into at most one mark a screen cell, so that 100,000 stay smooth. Pure. */

export interface DotGrid {
  readonly columns: number;
  readonly rows: number;
  /** Dots in each cell, row-major, saturating at 65,535. */
  readonly counts: Uint16Array;
}

export interface Projection {
  readonly fromUs: number;
  readonly toUs: number;
  readonly lowLog: number;
  readonly highLog: number;
  readonly widthPx: number;
  readonly heightPx: number;
}

export function emptyGrid(widthPx: number, heightPx: number, cellPx: number): DotGrid {
  const columns = Math.max(1, Math.ceil(widthPx / cellPx));
  const rows = Math.max(1, Math.ceil(heightPx / cellPx));
  return { columns, rows, counts: new Uint16Array(columns * rows) };
}

/** Counts the dots [first, last) for which `keep` holds into a grid over the projection. */
export function fillGrid(
  grid: DotGrid,
  tUs: Float64Array,
  logLatency: Float32Array,
  range: readonly [number, number],
  projection: Projection,
  keep: (index: number) => boolean,
): void {
  const { columns, rows, counts } = grid;
  const perUs = columns / (projection.toUs - projection.fromUs);
  const perLog = rows / (projection.highLog - projection.lowLog);
  for (let i = range[0]; i < range[1]; i += 1) {
    if (!keep(i)) continue;
    const column = Math.floor(((tUs[i] as number) - projection.fromUs) * perUs);
    const row = Math.floor((projection.highLog - (logLatency[i] as number)) * perLog);
    if (column < 0 || column >= columns) continue;
    const cell = Math.min(rows - 1, Math.max(0, row)) * columns + column;
    const before = counts[cell] as number;
    if (before < 65_535) counts[cell] = before + 1;
  }
}

/** Calls back for each cell whose count is in [low, high]. */
export function eachCell(grid: DotGrid, low: number, high: number, draw: (column: number, row: number) => void): void {
  const { columns, counts } = grid;
  for (let cell = 0; cell < counts.length; cell += 1) {
    const n = counts[cell] as number;
    if (n >= low && n <= high) draw(cell % columns, Math.floor(cell / columns));
  }
}
