/** Times in the format of `<input type="datetime-local">`: "2026-11-24T13:00:05", in a zone shown next to it. Pure. */

import { dateTime, type Zone } from "./time";

export const toWallTime = (us: number, zone: Zone): string => dateTime(us, zone).replace(" ", "T");

/** µs since the epoch; null if it is not a time. */
export function fromWallTime(text: string, zone: Zone): number | null {
  const ms = Date.parse(zone === "utc" ? `${text}Z` : text);
  return /^\d{4,}-\d\d-\d\dT\d\d:\d\d/.test(text) && Number.isFinite(ms) ? ms * 1000 : null;
}

/** "UTC", or the browser's zone: "Europe/Berlin". */
export const zoneName = (zone: Zone): string => (zone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone);
