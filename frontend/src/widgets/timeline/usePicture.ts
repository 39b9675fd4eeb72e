import { useRouter } from "@tanstack/react-router";
import { useCallback, useEffect, useEffectEvent, useState, type Dispatch, type SetStateAction } from "react";

import { formatView } from "@/lib/search";
import type { TimeView } from "@/lib/timeView";

/** The timeline's state in the URL. */
export interface PictureState {
  /** null: the initial view. */
  readonly view: TimeView | null;
  readonly selection: TimeView | null;
}

export interface Picture {
  readonly picture: PictureState;
  readonly setPicture: Dispatch<SetStateAction<PictureState>>;
  /** Returns to the previous view; false: this page has shown no other view. */
  readonly goBack: () => boolean;
}

/**
 * The timeline's state, which follows the URL: the browser's back and forward move through the views.
 *
 * `onRest` is called when the pointer rests, because browsers reject hundreds of URL updates/s. A new view adds an
 * entry to the browser's history (`isStep`), a new selection does not.
 */
export function usePicture(url: PictureState, onRest: (state: PictureState, isStep: boolean) => void): Picture {
  const router = useRouter();
  const [picture, setPicture] = useState(url);
  const [told, setTold] = useState(url);
  const [seen, setSeen] = useState(url);
  const [firstEntry] = useState(() => router.history.location.state.__TSR_index);

  if (!isSame(url, seen)) {
    setSeen(url);
    if (!isSame(url, told)) {
      // Not from here: the user went back or forward.
      setTold(url);
      setPicture(url);
    }
  }

  const tell = useEffectEvent(() => {
    setTold(picture);
    onRest(picture, !isSameView(picture.view, told.view));
  });
  useEffect(() => {
    if (isSame(picture, told)) return undefined;
    const timer = setTimeout(() => tell(), 250);
    return () => clearTimeout(timer);
  }, [picture, told]);

  const goBack = useCallback(() => {
    if (router.history.location.state.__TSR_index <= firstEntry) return false;
    router.history.back();
    return true;
  }, [router, firstEntry]);
  return { picture, setPicture, goBack };
}

// As in the URL: in whole microseconds.
const isSameView = (a: TimeView | null, b: TimeView | null): boolean => formatView(a) === formatView(b);
const isSame = (a: PictureState, b: PictureState): boolean => isSameView(a.view, b.view) && isSameView(a.selection, b.selection);
