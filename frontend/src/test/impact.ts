import type { Schemas } from "@/api/client";

/** A figure of an impact; a share by default. */
export const impactFigure = (id: string, value: number, more: Partial<Schemas["ImpactFigure"]> = {}): Schemas["ImpactFigure"] => ({
  id, value, title: id, unit: "ratio", better: "lower", threshold: null, hot: false, detail: null, phrase: "", short: "", ...more,
});
