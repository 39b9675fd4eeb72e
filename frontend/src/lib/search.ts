/** Search parameters of the URL: validated when read, short when written. */

import type { TimeView } from "./timeView";

export const optionalString = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

export const optionalNumber = (value: unknown): number | undefined => {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
};

export function oneOf<const Choice extends string>(value: unknown, choices: readonly Choice[]): Choice | undefined {
  return choices.find((choice) => choice === value);
}

/** The part of a timeline in a link: `view` and `sel` as "FROM-TO" in µs. */
export interface PictureSearch {
  view?: string | undefined;
  sel?: string | undefined;
}

export function pictureSearch(search: Record<string, unknown>): PictureSearch {
  return { view: optionalString(search["view"]), sel: optionalString(search["sel"]) };
}

export function parseView(text: string | undefined): TimeView | null {
  const match = /^(\d{1,16})-(\d{1,16})$/.exec(text ?? "");
  if (match === null) return null;
  const view = { fromUs: Number(match[1]), toUs: Number(match[2]) };
  return view.fromUs < view.toUs ? view : null;
}

export const formatView = (view: TimeView | null): string | undefined => (view === null ? undefined : `${Math.round(view.fromUs)}-${Math.round(view.toUs)}`);
