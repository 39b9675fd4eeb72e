import { useEffect, useState } from "react";

/** The value once it has not changed for a moment; the last valid one while it is invalid. */
export function useSettled<Value>(value: Value, isGood: boolean): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    if (!isGood) return undefined;
    const timer = setTimeout(() => setSettled(value), 300);
    return () => clearTimeout(timer);
  }, [value, isGood]);
  return settled;
}
