import { lazy, Suspense, type ReactElement } from "react";

import { PaletteWaits } from "./PaletteWaits";
import { useTypeAhead } from "./typeAhead";

/** The palette's code, preloaded shortly after the page. */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export const loadPalette = () => import("./CommandPalette");
const CommandPalette = lazy(async () => ({ default: (await loadPalette()).CommandPalette }));

/** The open palette, or its frame until the code has loaded. It receives all keys from now on. */
export function Palette({ onOpenChange }: { onOpenChange: (open: boolean) => void }): ReactElement {
  const { shown, take } = useTypeAhead(() => onOpenChange(false));
  return (
    <Suspense fallback={<PaletteWaits text={shown} />}>
      <CommandPalette onOpenChange={onOpenChange} takeTyped={take} />
    </Suspense>
  );
}
