/** The window that a comparison opens with. Pure. */

import { US_PER_S } from "./time";
import { span, type TimeView } from "./timeView";

/** Fewer than six blocks of 10 s can hardly tell anything apart. */
const LEAST_US = 60 * US_PER_S;
/** The server's bound. */
const MOST_US = 3600 * US_PER_S;

/** What is looked at: widened around its middle to a minute, and of more than an hour the last one. */
export function compareWindow(view: TimeView): TimeView {
  const [from, to] = [Math.round(view.fromUs), Math.round(view.toUs)];
  if (span(view) > MOST_US) return { fromUs: to - MOST_US, toUs: to };
  if (span(view) >= LEAST_US) return { fromUs: from, toUs: to };
  const start = Math.round((from + to - LEAST_US) / 2);
  return { fromUs: start, toUs: start + LEAST_US };
}
