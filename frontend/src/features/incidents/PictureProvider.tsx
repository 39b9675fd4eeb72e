import { useCallback, useLayoutEffect, useMemo, useRef, type ReactElement, type ReactNode } from "react";

import { clampView, type TimeView } from "@/lib/timeView";
import { usePicture, type PictureState } from "@/widgets/timeline/usePicture";

import { ControlContext, NowContext, type PictureControl, type PictureNow, type Shown } from "./pictureContext";

export interface PictureProviderProps {
  url: PictureState;
  /** Reports the state when the pointer rests. */
  onRest: (state: PictureState, isStep: boolean) => void;
  extent: TimeView;
  /** The initial view. */
  first: TimeView;
  children: ReactNode;
}

/** Holds the timeline's state. Its children are rendered again only if they read it. */
export function PictureProvider({ url, onRest, extent, first, children }: PictureProviderProps): ReactElement {
  const { picture, setPicture, goBack } = usePicture(url, onRest);
  const view = useMemo(() => clampView(picture.view ?? first, extent), [picture.view, first, extent]);
  const shown = useRef<Shown>({ view, selection: picture.selection });
  useLayoutEffect(() => {
    shown.current = { view, selection: picture.selection };
  }, [view, picture.selection]);
  const setView = useCallback((next: TimeView) => setPicture((before) => ({ ...before, view: next })), [setPicture]);
  const control = useMemo<PictureControl>(() => ({ setPicture, goBack, setView, current: () => shown.current }), [setPicture, goBack, setView]);
  const now = useMemo<PictureNow>(() => ({ picture, view }), [picture, view]);
  return (
    <ControlContext value={control}>
      <NowContext value={now}>{children}</NowContext>
    </ControlContext>
  );
}
