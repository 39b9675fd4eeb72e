import { useMemo } from "react";

import { resolveColor, useResolvedTheme } from "@/ui/theme";

export interface Palette {
  readonly ink: string;
  readonly dim: string;
  readonly line: string;
  readonly hot: string;
  readonly hotSoft: string;
  readonly cool: string;
  readonly gc: string;
  readonly gcInk: string;
  readonly limit: string;
  readonly hatch: string;
  readonly bg: string;
}

const read = new Map<string, Palette>();

/** The resolved tokens; cached, because a theme always resolves to the same values. */
function paletteOf(theme: "light" | "dark"): Palette {
  const known = read.get(theme);
  if (known !== undefined) return known;
  const palette: Palette = {
    ink: resolveColor("--ink"),
    dim: resolveColor("--dim"),
    line: resolveColor("--line"),
    hot: resolveColor("--hot"),
    hotSoft: resolveColor("--hot-soft"),
    cool: resolveColor("--cool"),
    gc: resolveColor("--gc"),
    gcInk: resolveColor("--gc-ink"),
    limit: resolveColor("--limit"),
    hatch: resolveColor("--hatch"),
    bg: resolveColor("--bg"),
  };
  read.set(theme, palette);
  return palette;
}

/** The current theme's tokens as canvas colors. */
export function usePalette(): Palette {
  const theme = useResolvedTheme();
  return useMemo(() => paletteOf(theme), [theme]);
}
