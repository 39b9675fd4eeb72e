/** Weekly hours, as form state and as text. Pure. */

export const DAYS = { mon: "Mon", tue: "Tue", wed: "Wed", thu: "Thu", fri: "Fri", sat: "Sat", sun: "Sun" } as const;
export type Day = keyof typeof DAYS;
export const WEEK = Object.keys(DAYS) as readonly Day[];

/** From `start` on each of `days` to `end`, on the next day if `end` is not after `start`. */
export interface WeeklyHours {
  days: Day[];
  start: string;
  end: string;
  time_zone: string;
}

/** "Mon to Fri 22:00 to 07:00, Europe/Berlin" */
export function hoursInWords(hours: WeeklyHours): string {
  const days = WEEK.filter((one) => hours.days.includes(one));
  const first = days[0];
  const last = days.at(-1);
  if (first === undefined || last === undefined) return "";
  const inARow = WEEK.indexOf(last) - WEEK.indexOf(first) === days.length - 1;
  const when = days.length === WEEK.length ? "every day" : inARow && days.length > 2 ? `${DAYS[first]} to ${DAYS[last]}` : days.map((one) => DAYS[one]).join(", ");
  return `${when} ${hours.start} to ${hours.end}, ${hours.time_zone}`;
}

/** Why the server would refuse the hours; null if it would not. `endless`: the message for hours that never end. */
export function hoursProblem(hours: WeeklyHours, name: string, endless: string): string | null {
  if (hours.days.length === 0) return `${name} need at least one start day.`;
  if (hours.start === "" || hours.end === "") return `${name} need a start and an end.`;
  if (hours.days.length === WEEK.length && hours.start === hours.end) return endless;
  return isZone(hours.time_zone) ? null : `There is no time zone ${hours.time_zone}.`;
}

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).format(0) !== "";
  } catch {
    return false;
  }
}
