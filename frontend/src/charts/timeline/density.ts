/** Turns any number of dots into one bitmap, so that 100,000 dots stay smooth. Pure. */

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
}

export function emptyGrid(widthPx: number, heightPx: number, cellPx: number): DotGrid {
  const columns = Math.max(1, Math.ceil(widthPx / cellPx));
  const rows = Math.max(1, Math.ceil(heightPx / cellPx));
  return { columns, rows, counts: new Uint16Array(columns * rows) };
}

/** Counts the included dots of [first, last) into a grid over the projection. */
export function fillGrid(grid: DotGrid, tUs: Float64Array, logLatency: Float32Array, range: readonly [number, number], projection: Projection, leftOut: Uint8Array): void {
  const { columns, rows, counts } = grid;
  const perUs = columns / (projection.toUs - projection.fromUs);
  const perLog = rows / (projection.highLog - projection.lowLog);
  for (let i = range[0]; i < range[1]; i += 1) {
    if (leftOut[i] !== 0) continue;
    const column = Math.floor(((tUs[i] as number) - projection.fromUs) * perUs);
    const row = Math.floor((projection.highLog - (logLatency[i] as number)) * perLog);
    if (column < 0 || column >= columns) continue;
    const cell = Math.min(rows - 1, Math.max(0, row)) * columns + column;
    const before = counts[cell] as number;
    if (before < 65_535) counts[cell] = before + 1;
  }
}

/** Pixels of an image, each a color in canvas format. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly colors: Uint32Array;
}

/** Draws each cell with dots as a square, stronger the more dots it has. */
export function paintGrid(grid: DotGrid, cellPx: number, pixels: Pixels, [one, some, many]: readonly [number, number, number]): void {
  const { columns, rows, counts } = grid;
  const { width, height, colors } = pixels;
  for (let row = 0; row < rows; row += 1) {
    const bottom = Math.min(height, (row + 1) * cellPx);
    for (let column = 0; column < columns; column += 1) {
      const n = counts[row * columns + column] as number;
      if (n === 0) continue;
      const color = n === 1 ? one : n < 4 ? some : many;
      const right = Math.min(width, (column + 1) * cellPx);
      for (let y = row * cellPx; y < bottom; y += 1) {
        for (let x = column * cellPx; x < right; x += 1) colors[y * width + x] = color;
      }
    }
  }
}

/** A diamond or a cross around a pixel. */
export function stamp(pixels: Pixels, x: number, y: number, half: number, cross: boolean, color: number): void {
  const { width, height, colors } = pixels;
  for (let dy = -half; dy <= half; dy += 1) {
    if (y + dy < 0 || y + dy >= height) continue;
    for (let dx = -half; dx <= half; dx += 1) {
      if (x + dx < 0 || x + dx >= width) continue;
      if (cross ? Math.abs(Math.abs(dx) - Math.abs(dy)) * 2 <= half / 2 : Math.abs(dx) + Math.abs(dy) <= half) colors[(y + dy) * width + x + dx] = color;
    }
  }
}
