/** Keys pressed between opening the palette and its field getting the focus: none of them is lost. */

import { useEffectEvent, useLayoutEffect, useRef, useState } from "react";

export interface TypedAhead {
  readonly text: string;
  /** Keys after the text: arrows through the results, and Enter. */
  readonly keys: readonly string[];
}

export const NOTHING_TYPED: TypedAhead = { text: "", keys: [] };
const MOVES = ["ArrowDown", "ArrowUp", "Home", "End", "Enter"];

/** The typed text with one more key; null if the key is not for the palette. Pure. */
export function withKey(typed: TypedAhead, key: string): TypedAhead | null {
  // Enter closes the palette: later keys are meant for the next page.
  if (typed.keys.includes("Enter")) return MOVES.includes(key) || key === "Backspace" || isText(key) ? typed : null;
  if (MOVES.includes(key)) return { ...typed, keys: [...typed.keys, key] };
  // New text has new results, and the first one is selected.
  if (key === "Backspace") return { text: Array.from(typed.text).slice(0, -1).join(""), keys: [] };
  return isText(key) ? { text: typed.text + key, keys: [] } : null;
}

const isText = (key: string): boolean => Array.from(key).length === 1;

/**
 * Captures keys from the call until `take`, which returns the typed text and leaves further keys to the field.
 * `shown`: the text so far.
 */
export function useTypeAhead(onEscape: () => void): { shown: string; take: () => TypedAhead } {
  const typed = useRef<TypedAhead | null>(NOTHING_TYPED);
  const [shown, setShown] = useState("");
  const press = useEffectEvent((event: KeyboardEvent): void => {
    if (typed.current === null || event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
    const next = event.key === "Escape" ? typed.current : withKey(typed.current, event.key);
    if (next === null) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    typed.current = next;
    setShown(next.text);
    if (event.key === "Escape") onEscape();
  });
  // In time for the next key.
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent): void => press(event);
    window.addEventListener("keydown", listener, { capture: true });
    return () => window.removeEventListener("keydown", listener, { capture: true });
  }, []);
  const take = (): TypedAhead => {
    const found = typed.current ?? NOTHING_TYPED;
    typed.current = null;
    return found;
  };
  return { shown, take };
}
