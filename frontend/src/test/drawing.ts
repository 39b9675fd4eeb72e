/** A canvas that records what is painted on it, so that the drawing can be compared with the measurements. */

export interface PaintedRect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly color: string;
  readonly alpha: number;
}

/** The middle of a dot or another small shape. */
export interface PaintedDot {
  readonly x: number;
  readonly y: number;
  readonly color: string;
  readonly shape: "circle" | "filled" | "stroked";
}

interface Point {
  readonly x: number;
  readonly y: number;
}

export class Drawing {
  fillStyle = "";
  strokeStyle = "";
  globalAlpha = 1;
  lineWidth = 1;
  font = "";
  textAlign = "left";
  textBaseline = "middle";
  readonly rects: PaintedRect[] = [];
  readonly dots: PaintedDot[] = [];
  /** Lines that fill a clipped region: hatching. */
  readonly hatched: PaintedRect[] = [];
  readonly texts: string[] = [];
  private path: Point[] = [];
  private circles: Point[] = [];
  private box: Omit<PaintedRect, "color" | "alpha"> | null = null;
  private readonly clips: (Omit<PaintedRect, "color" | "alpha"> | null)[] = [];
  private clipped: Omit<PaintedRect, "color" | "alpha"> | null = null;

  get context(): CanvasRenderingContext2D {
    return this as unknown as CanvasRenderingContext2D;
  }

  save(): void {
    this.clips.push(this.clipped);
  }

  restore(): void {
    this.clipped = this.clips.pop() ?? null;
  }

  beginPath(): void {
    this.path = [];
    this.circles = [];
    this.box = null;
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.box = { x, y, width, height };
  }

  clip(): void {
    this.clipped = this.box;
  }

  moveTo(x: number, y: number): void {
    this.path.push({ x, y });
  }

  lineTo(x: number, y: number): void {
    this.path.push({ x, y });
  }

  arc(x: number, y: number): void {
    this.circles.push({ x, y });
  }

  setLineDash(): void {
    // Dashes are how a line looks, not where it is.
  }

  measureText(text: string): { width: number } {
    return { width: text.length * 6 };
  }

  fillText(text: string): void {
    this.texts.push(text);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.rects.push({ x, y, width, height, color: this.fillStyle, alpha: this.globalAlpha });
  }

  fill(): void {
    for (const { x, y } of this.circles) this.dots.push({ x, y, color: this.fillStyle, shape: "circle" });
    if (this.circles.length === 0) this.shape(this.fillStyle, "filled");
  }

  stroke(): void {
    const { clipped } = this;
    // Within its own clip region, not that of the whole lane.
    if (this.clips.length > 1 && clipped !== null) this.hatched.push({ ...clipped, color: this.strokeStyle, alpha: this.globalAlpha });
    else this.shape(this.strokeStyle, "stroked");
  }

  private shape(color: string, shape: PaintedDot["shape"]): void {
    if (this.path.length < 4) return;
    const middle = (values: readonly number[]): number => (Math.min(...values) + Math.max(...values)) / 2;
    this.dots.push({ x: middle(this.path.map(({ x }) => x)), y: middle(this.path.map(({ y }) => y)), color, shape });
  }
}
