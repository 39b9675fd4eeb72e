import { useEffect, useState, type ReactElement } from "react";

export interface FilterTextProps {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
  className?: string | undefined;
}

/** A text that narrows a list, told once nothing was typed for a moment; undefined where it is empty. */
export function FilterText({ label, value, onChange, className }: FilterTextProps): ReactElement {
  const [text, setText] = useState(value ?? "");
  useEffect(() => {
    const timer = setTimeout(() => {
      if (text !== (value ?? "")) onChange(text === "" ? undefined : text);
    }, 200);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return <input className={className} type="search" placeholder={label} aria-label={label} value={text} onChange={(event) => setText(event.target.value)} />;
}
