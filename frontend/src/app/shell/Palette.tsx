import { lazy, Suspense, type ReactElement } from "react";

import { PaletteWaits } from "./PaletteWaits";
import { useTypeAhead } from "./typeAhead";

/** The palette's code: asked for before a hand reaches the keys, where there is time. */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const loadPalette = () => import("./CommandPalette");
const CommandPalette = lazy(async () => ({ default: (await loadPalette()).CommandPalette }));

/** The open palette, or its frame until its code is there. Keys go to it from now on. */
export function Palette({ onOpenChange }: { onOpenChange: (open: boolean) => void }): ReactElement {
  const { shown, take } = useTypeAhead(() => onOpenChange(false));
  return (
    <Suspense fallback={<PaletteWaits text={shown} />}>
      <CommandPalette onOpenChange={onOpenChange} takeTyped={take} />
    </Suspense>
  );
}
