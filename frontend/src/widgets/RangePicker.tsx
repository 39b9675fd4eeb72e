import { useId, useState, type ReactElement, type SubmitEvent } from "react";

import { dateTime, minutesText, US_PER_S, type Zone } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import { fromWallTime, toWallTime, zoneName } from "@/lib/wallTime";
import { Button } from "@/ui/Button";
import { Choice } from "@/ui/Choice";

import styles from "./RangePicker.module.css";

export interface RangePickerProps<Minutes extends number> {
  /** Preset lengths of a range that ends now. */
  choices: readonly Minutes[];
  minutes: Minutes;
  /** An absolute range; null: the last `minutes`. */
  range: TimeView | null;
  zone: Zone;
  longestMinutes: number;
  nowUs: number;
  onMinutes: (minutes: Minutes) => void;
  onRange: (range: TimeView | null) => void;
  onZone: (zone: Zone) => void;
}

const MINUTE_US = 60 * US_PER_S;

/** A time range that ends now, or one with absolute times in a zone. */
export function RangePicker<Minutes extends number>(props: RangePickerProps<Minutes>): ReactElement {
  const { choices, minutes, range, zone, nowUs, onMinutes, onRange, onZone } = props;
  const [open, setOpen] = useState(false);
  const form = useId();
  return (
    <div className={styles["picker"]}>
      <Choice label="Range" options={choices.map((choice) => [choice, minutesText(choice)])} value={range === null ? minutes : null} onChange={onMinutes} />
      <Button aria-expanded={open} aria-controls={form} aria-pressed={range !== null} onClick={() => setOpen(!open)}>
        {range === null ? "Absolute times" : rangeText(range, zone)}
      </Button>
      <Choice label="Time zone" options={[["local", zoneName("local") === "UTC" ? "Local (UTC)" : zoneName("local")], ["utc", "UTC"]]} value={zone} onChange={onZone} />
      {range !== null && <Button onClick={() => onRange(null)}>Back to now</Button>}
      <div id={form} hidden={!open} style={{ flexBasis: "100%" }}>
        {/* Made anew where what it edits changes from outside: zone, or a range of a link. */}
        {open && <Times key={`${zone} ${range?.fromUs} ${range?.toUs}`} {...props} start={range ?? { fromUs: floor(nowUs - minutes * MINUTE_US), toUs: floor(nowUs) }} />}
      </div>
    </div>
  );
}

const floor = (us: number): number => us - (us % MINUTE_US);

function Times<Minutes extends number>({ zone, longestMinutes, onRange, start }: RangePickerProps<Minutes> & { start: TimeView }): ReactElement {
  const [from, setFrom] = useState(() => toWallTime(start.fromUs, zone));
  const [to, setTo] = useState(() => toWallTime(start.toUs, zone));
  const [error, setError] = useState<string | null>(null);
  const told = useId();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const [fromUs, toUs] = [fromWallTime(from, zone), fromWallTime(to, zone)];
    const problem = problemOf(fromUs, toUs, longestMinutes);
    setError(problem);
    if (problem === null && fromUs !== null && toUs !== null) onRange({ fromUs, toUs });
  };
  return (
    <form className={styles["form"]} onSubmit={submit} noValidate>
      <label>
        From, {zoneName(zone)}
        <input type="datetime-local" step={1} value={from} aria-invalid={error !== null} aria-describedby={told} onChange={(event) => setFrom(event.target.value)} />
      </label>
      <label>
        To, {zoneName(zone)}
        <input type="datetime-local" step={1} value={to} aria-invalid={error !== null} aria-describedby={told} onChange={(event) => setTo(event.target.value)} />
      </label>
      <Button type="submit" kind="primary">
        Show range
      </Button>
      <p id={told} className={styles["error"]} role="alert" hidden={error === null}>
        {error}
      </p>
    </form>
  );
}

/** What is wrong with a range and what to do; null: nothing. */
export function problemOf(fromUs: number | null, toUs: number | null, longestMinutes: number): string | null {
  if (fromUs === null || toUs === null) return "Enter both times with date, hour and minute.";
  if (fromUs >= toUs) return "The range ends before it begins. Choose a later end.";
  if (toUs - fromUs > longestMinutes * MINUTE_US) return `The range is longer than ${minutesText(longestMinutes)}. Choose a shorter one.`;
  return null;
}

/** "2026-11-24 13:00 to 14:00 UTC" */
export function rangeText(range: TimeView, zone: Zone): string {
  const [from, to] = [dateTime(range.fromUs, zone), dateTime(range.toUs, zone)];
  const seconds = from.endsWith(":00") && to.endsWith(":00") ? -3 : undefined;
  const end = from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to;
  return `${from.slice(0, seconds)} to ${end.slice(0, seconds)} ${zone === "utc" ? "UTC" : "local"}`;
}
