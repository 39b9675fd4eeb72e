import { useState, type MouseEvent, type ReactElement } from "react";

import type { CaptureSeconds } from "@/api/captures";
import { cpus } from "@/lib/format";
import { clock, US_PER_S } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";

import styles from "./Captures.module.css";

export interface SecondStripProps {
  seconds: CaptureSeconds;
  rateHz: number;
  /** null: all of it */
  time: TimeView | null;
  onTime: (time: TimeView | null) => void;
}

/** CPUs used in a second, from its samples, or from the process table if stacks are unavailable. */
function cpuOf(seconds: CaptureSeconds, samples: number, index: number, rateHz: number): { user: number; kernel: number } {
  if (rateHz > 0) return { user: samples / rateHz, kernel: (seconds.kernel_samples[index] ?? 0) / rateHz };
  const ms = seconds.step_us / 1000;
  return { user: (seconds.user_ms[index] ?? 0) / ms, kernel: (seconds.system_ms[index] ?? 0) / ms };
}

/** One bar per second: user CPU and, on top, kernel CPU. A click shows that second alone; Shift-click extends the selection. */
export function SecondStrip({ seconds, rateHz, time, onTime }: SecondStripProps): ReactElement {
  const [anchor, setAnchor] = useState<number | null>(null);
  const bars = seconds.user_samples.map((samples, index) => {
    const fromUs = seconds.start_us + index * seconds.step_us;
    return { index, fromUs, toUs: fromUs + seconds.step_us, ...cpuOf(seconds, samples, index, rateHz) };
  });
  const top = Math.max(1, ...bars.map((bar) => bar.user + bar.kernel));
  const choose = (event: MouseEvent, index: number): void => {
    const from = event.shiftKey && anchor !== null ? anchor : index;
    if (!event.shiftKey || anchor === null) setAnchor(index);
    const [first, last] = from < index ? [from, index] : [index, from];
    const next = { fromUs: seconds.start_us + first * seconds.step_us, toUs: seconds.start_us + (last + 1) * seconds.step_us };
    // A second click clears it.
    onTime(time !== null && time.fromUs === next.fromUs && time.toUs === next.toUs ? null : next);
  };
  return (
    <div className={styles["stripScroll"]}>
      <div className={styles["strip"]} role="group" aria-label="Seconds of the capture. Shift-click extends the selection">
        {bars.map((bar) => {
          const within = time !== null && bar.fromUs < time.toUs && bar.toUs > time.fromUs;
          return (
            <button
              key={bar.index}
              type="button"
              className={styles["second"]}
              aria-pressed={within}
              aria-label={`${clock(bar.fromUs)}: ${cpus(bar.kernel)} kernel, ${cpus(bar.user)} user`}
              title={`${clock(bar.fromUs)}: ${cpus(bar.kernel)} kernel, ${cpus(bar.user)} user`}
              onClick={(event) => choose(event, bar.index)}
            >
              <span className={styles["kernelBar"]} style={{ height: `${(bar.kernel / top) * 100}%` }} />
              <span className={styles["userBar"]} style={{ height: `${(bar.user / top) * 100}%` }} />
            </button>
          );
        })}
      </div>
      <p className={styles["ends"]} aria-hidden="true">
        <span>{clock(seconds.start_us)}</span>
        <span>{clock(seconds.start_us + bars.length * US_PER_S)}</span>
      </p>
    </div>
  );
}
