/** The initial window of a comparison. Pure. */

import { US_PER_S } from "./time";
import { span, type TimeView } from "./timeView";

/** With fewer than six blocks of 10 s, hardly any difference can be shown. */
const LEAST_US = 60 * US_PER_S;
/** The server's maximum. */
const MOST_US = 3600 * US_PER_S;

/** The visible window: widened around its middle to at least a minute, or the last hour of a longer one. */
export function compareWindow(view: TimeView): TimeView {
  const [from, to] = [Math.round(view.fromUs), Math.round(view.toUs)];
  if (span(view) > MOST_US) return { fromUs: to - MOST_US, toUs: to };
  if (span(view) >= LEAST_US) return { fromUs: from, toUs: to };
  const start = Math.round((from + to - LEAST_US) / 2);
  return { fromUs: start, toUs: start + LEAST_US };
}
