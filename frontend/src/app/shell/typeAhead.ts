/** Keys that are pressed between asking for the palette and its field having the focus: none of them is lost. */

import { useEffectEvent, useLayoutEffect, useRef, useState } from "react";

export interface TypedAhead {
  readonly text: string;
  /** Then: arrows through what the text finds, and Enter. */
  readonly keys: readonly string[];
}

export const NOTHING_TYPED: TypedAhead = { text: "", keys: [] };
const MOVES = ["ArrowDown", "ArrowUp", "Home", "End", "Enter"];

/** What was typed with one more key; null where the key is not the palette's. Pure. */
export function withKey(typed: TypedAhead, key: string): TypedAhead | null {
  // After Enter the palette is closed: what follows is meant for the page that comes.
  if (typed.keys.includes("Enter")) return MOVES.includes(key) || key === "Backspace" || isText(key) ? typed : null;
  if (MOVES.includes(key)) return { ...typed, keys: [...typed.keys, key] };
  // Another text finds something else, of which the first is chosen.
  if (key === "Backspace") return { text: Array.from(typed.text).slice(0, -1).join(""), keys: [] };
  return isText(key) ? { text: typed.text + key, keys: [] } : null;
}

const isText = (key: string): boolean => Array.from(key).length === 1;

/**
 * From when whoever calls it is there, until `take` is called: that gives what was typed, and leaves further keys to the
 * field. `shown`: the text so far.
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
  // Before the next key.
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
