import { useEffect, useState, type ReactElement } from "react";

export interface FilterTextProps {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

/** A text that narrows a list, told once nothing was typed for a moment; undefined where it is empty. */
export function FilterText({ label, value, onChange }: FilterTextProps): ReactElement {
  const [text, setText] = useState(value ?? "");
  const [before, setBefore] = useState(value);
  const [told, setTold] = useState(value);
  if (value !== before) {
    setBefore(value);
    // Changed by others: a link, a saved view, "Clear filter". What was told from here may be behind what is typed.
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
