import { useId, type ReactElement } from "react";

import { Button } from "@/ui/Button";

import styles from "./StopSlider.module.css";

export interface StopSliderProps {
  label: string;
  /** The recorded value. */
  off: string;
  stops: readonly number[];
  value: number | null;
  onChange: (value: number | null) => void;
  format: (value: number) => string;
}

/** A slider over numbers, with a checkbox for the last stop. */
export function StopSlider({ label, off, stops, value, onChange, format }: StopSliderProps): ReactElement {
  const id = useId();
  const at = value === null ? -1 : stops.findIndex((stop) => stop >= value);
  const middle = Math.floor(stops.length / 2);
  const shown = at < 0 ? (value === null ? middle : stops.length - 1) : at;
  return (
    <div className={styles["control"]}>
      <label htmlFor={id}>{label}</label>
      <output htmlFor={id}>{value === null ? off : format(value)}</output>
      <input
        id={id}
        type="range"
        min={0}
        max={Math.max(1, stops.length - 1)}
        step={1}
        value={shown}
        data-off={value === null}
        aria-valuetext={value === null ? off : format(value)}
        onChange={(event) => onChange(stops[Number(event.target.value)] ?? null)}
      />
      <Button disabled={value === null} onClick={() => onChange(null)}>
        Reset
      </Button>
    </div>
  );
}
