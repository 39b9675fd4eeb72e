import clsx from "clsx";
import type { ReactElement } from "react";

import styles from "./Choice.module.css";

export interface ChoiceProps<Value extends string | number> {
  label: string;
  options: readonly (readonly [value: Value, text: string])[];
  /** None is pressed if it is not among the options. */
  value: Value | null;
  onChange: (value: Value) => void;
  className?: string | undefined;
}

/** A few options side by side, one of them selected. */
export function Choice<Value extends string | number>({ label, options, value, onChange, className }: ChoiceProps<Value>): ReactElement {
  return (
    <div className={clsx(styles["choice"], className)} role="group" aria-label={label}>
      {options.map(([one, text]) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => onChange(one)}>
          {text}
        </button>
      ))}
    </div>
  );
}
