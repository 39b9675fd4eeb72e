/**
 * The state of an incident's timeline, for the few parts of the page that need it. It changes with every frame of a
 * moving hand: whoever does not read it is not rendered again.
 */

import { createContext, useContext } from "react";

import type { TimeView } from "@/lib/timeView";
import type { Picture, PictureState } from "@/widgets/timeline/usePicture";

export interface PictureNow {
  readonly picture: PictureState;
  /** The visible part. */
  readonly view: TimeView;
}

export interface PictureControl extends Pick<Picture, "setPicture" | "goBack"> {
  readonly setView: (view: TimeView) => void;
  /** The current view and selection, for when something is pressed. */
  readonly current: () => Shown;
}

export interface Shown {
  readonly view: TimeView;
  readonly selection: TimeView | null;
}

export const NowContext = createContext<PictureNow | null>(null);
export const ControlContext = createContext<PictureControl | null>(null);

export const usePictureNow = (): PictureNow => known(useContext(NowContext));
/** Never changes while the page is open. */
export const usePictureControl = (): PictureControl => known(useContext(ControlContext));

function known<Value>(value: Value | null): Value {
  if (value === null) throw new Error("Outside of a PictureProvider");
  return value;
}
