import { useId, type ReactElement } from "react";

import { DAYS, WEEK, type WeeklyHours } from "@/lib/weeklyHours";
import { Field } from "@/ui/Field";

import styles from "./Mutes.module.css";

interface HoursFieldsProps {
  value: WeeklyHours;
  onChange: (part: Partial<WeeklyHours>) => void;
}

/** Days, from, to, and time zone. */
export function HoursFields({ value, onChange }: HoursFieldsProps): ReactElement {
  const zones = useId();
  return (
    <>
      <fieldset className={styles["days"]}>
        <legend>Start days</legend>
        {WEEK.map((day) => (
          <label key={day}>
            <input
              type="checkbox"
              checked={value.days.includes(day)}
              onChange={(event) => onChange({ days: WEEK.filter((one) => (one === day ? event.target.checked : value.days.includes(one))) })}
            />
            {DAYS[day]}
          </label>
        ))}
      </fieldset>
      <div className={styles["pair"]}>
        <Field label="From">{(attributes) => <input {...attributes} type="time" required value={value.start} onChange={(event) => onChange({ start: event.target.value })} />}</Field>
        <Field label="To">{(attributes) => <input {...attributes} type="time" required value={value.end} onChange={(event) => onChange({ end: event.target.value })} />}</Field>
      </div>
      <Field label="Time zone">
        {(attributes) => <input {...attributes} required list={zones} value={value.time_zone} onChange={(event) => onChange({ time_zone: event.target.value })} />}
      </Field>
      <datalist id={zones}>
        {["UTC", ...Intl.supportedValuesOf("timeZone")].map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </>
  );
}
