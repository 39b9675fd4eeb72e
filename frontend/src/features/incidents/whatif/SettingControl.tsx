import { useId, useState, type ReactElement } from "react";

import type { Setting } from "@/api/whatif";
import { significant } from "@/lib/format";

import { NAMES, NULLS, valueText, type Parameter } from "./setting";
import { fallbackOf, nearestStop, sliderOf } from "./sliders";
import styles from "./WhatIf.module.css";

export interface SettingControlProps {
  name: Parameter;
  recorded: Setting;
  setting: Setting;
  nodeCpus: number;
  onChange: (value: number | null) => void;
}

/** One parameter: a slider over sensible values, a field for any value, and a checkbox if it can be off. */
export function SettingControl({ name, recorded, setting, nodeCpus, onChange }: SettingControlProps): ReactElement {
  const id = useId();
  const [draft, setDraft] = useState<string | null>(null);
  const slider = sliderOf(name, recorded, setting, nodeCpus);
  const value = setting[name];
  const off = NULLS[name];
  const shown = value ?? fallbackOf(name, recorded, nodeCpus);
  const changed = value !== recorded[name];
  const inert = value === null || (name === "burst_us" && setting.cpu_limit === null);

  const type = (text: string): void => {
    setDraft(text);
    const number = Number(text);
    if (text.trim() !== "" && number >= slider.min && number <= slider.max) onChange(number * slider.scale);
  };

  return (
    <div className={styles["control"]} data-changed={changed}>
      <span className={styles["name"]}>
        <label htmlFor={id}>{NAMES[name]}</label>
        {changed && <span className={styles["was"]}>was {valueText(name, recorded[name])}</span>}
      </span>
      <span className={styles["field"]}>
        <input
          type="number"
          aria-label={slider.unit === "" ? `${NAMES[name]}, number` : `${NAMES[name]} in ${slider.unit === "%" ? "percent" : slider.unit}`}
          min={slider.min}
          max={slider.max}
          step="any"
          disabled={inert}
          value={draft ?? (inert ? "" : significant(shown / slider.scale, 4).replaceAll(",", ""))}
          onChange={(event) => type(event.target.value)}
          onBlur={() => setDraft(null)}
        />
        <span className={styles["unit"]} aria-hidden="true">
          {slider.unit}
        </span>
      </span>
      <input
        id={id}
        type="range"
        className={styles["slider"]}
        min={0}
        max={Math.max(1, slider.stops.length - 1)}
        step={1}
        disabled={inert}
        value={nearestStop(slider.stops, shown)}
        aria-valuetext={valueText(name, value)}
        onChange={(event) => onChange(slider.stops[Number(event.target.value)] ?? shown)}
      />
      {off !== undefined && (
        <label className={styles["off"]}>
          <input
            type="checkbox"
            aria-label={`${NAMES[name]}: ${off}`}
            checked={value === null}
            onChange={(event) => onChange(event.target.checked ? null : fallbackOf(name, recorded, nodeCpus))}
          />
          {off}
        </label>
      )}
    </div>
  );
}
