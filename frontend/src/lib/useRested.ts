import { useEffect, useState } from "react";

/** For what may lag behind a moving pointer: unlike a deferred value, it costs no second render for each frame. */
export const WORDS_MS = 100;

/** The value once it has not changed for a moment. */
export function useRested<Value>(value: Value, ms: number): Value {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return rested;
}
