import { useEffect, useEffectEvent, useState, type Dispatch, type SetStateAction } from "react";

import type { TimeView } from "@/lib/timeView";

/** What of the picture is kept in the URL. */
export interface PictureState {
  /** null: the first view. */
  readonly view: TimeView | null;
  readonly selection: TimeView | null;
}

/** The picture's state. `onRest` hears of it when the hand rests: browsers refuse hundreds of URL updates in a second. */
export function usePicture(initial: PictureState, onRest: (state: PictureState) => void): [PictureState, Dispatch<SetStateAction<PictureState>>] {
  const [picture, setPicture] = useState(initial);
  const [told, setTold] = useState(picture);
  const tell = useEffectEvent(() => {
    setTold(picture);
    onRest(picture);
  });
  useEffect(() => {
    if (picture === told) return undefined;
    const timer = setTimeout(() => tell(), 250);
    return () => clearTimeout(timer);
  }, [picture, told]);
  return [picture, setPicture];
}
