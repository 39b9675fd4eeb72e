import { useEffect, useState, type ReactElement } from "react";

export interface FilterTextProps {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

/** A text filter of a list, reported once typing pauses; undefined if empty. */
export function FilterText({ label, value, onChange }: FilterTextProps): ReactElement {
  const [text, setText] = useState(value ?? "");
  const [before, setBefore] = useState(value);
  const [told, setTold] = useState(value);
  if (value !== before) {
    setBefore(value);
    // Changed from outside: a link, a saved view, "Clear filter". A value reported from here can lag behind the typed text.
    if (value !== told) {
      setTold(value);
      setText(value ?? "");
    }
  }
  useEffect(() => {
    const timer = setTimeout(() => {
      const next = text === "" ? undefined : text;
      if (next === value) return;
      setTold(next);
      onChange(next);
    }, 200);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return <input type="search" placeholder={label} aria-label={label} value={text} onChange={(event) => setText(event.target.value)} />;
}
