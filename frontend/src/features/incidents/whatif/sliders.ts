/** The range and stops of each slider. Pure. */

import type { Setting } from "@/api/whatif";
import { significant } from "@/lib/format";

import { quotaUs, type Parameter } from "./setting";

export interface Slider {
  /** All stops of the slider, ascending. */
  readonly stops: readonly number[];
  /** The number field next to it shows value / scale in this unit. */
  readonly scale: number;
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
}

const MIB = 2 ** 20;
const PERIODS_US = [1, 2, 5, 10, 20, 25, 50, 75, 100, 150, 200, 250, 300, 400, 500, 750, 1000].map((ms) => ms * 1000);
const GOGC = [10, 15, 20, 25, 30, 40, 50, 60, 75, 100, 125, 150, 200, 250, 300, 400, 500, 600, 800, 1000, 1500, 2000];
const MOST_REPLICAS = 20;
const REPLICAS = Array.from({ length: MOST_REPLICAS }, (_, index) => index + 1);

/** `count` values from low to high at equal ratios, each rounded to two digits. */
function ratioStops(low: number, high: number, count: number): number[] {
  const stops = Array.from({ length: count }, (_, index) => Number(significant(low * (high / low) ** (index / (count - 1)), 2).replaceAll(",", "")));
  return [...new Set(stops)];
}

/** The slider of a parameter, based on the recorded value and the node's capacity. */
export function sliderOf(name: Parameter, recorded: Setting, now: Setting, nodeCpus: number): Slider {
  const with_ = (stops: readonly number[], ...also: (number | null)[]): number[] =>
    [...new Set([...stops, ...also.filter((value) => value !== null)])].sort((a, b) => a - b);
  switch (name) {
    case "cpu_limit": {
      const base = recorded.cpu_limit ?? nodeCpus;
      const stops = ratioStops(Math.max(0.02, Math.min(base, nodeCpus) / 5), Math.max(nodeCpus, base * 5), 60);
      return { stops: with_(stops, recorded.cpu_limit, nodeCpus), scale: 1, unit: "CPU", min: 0.01, max: 4096, step: 0.01 };
    }
    case "period_us":
      return { stops: with_(PERIODS_US, recorded.period_us), scale: 1000, unit: "ms", min: 1, max: 1000, step: 1 };
    case "burst_us": {
      const quota = quotaUs(now) ?? 0;
      const stops = Array.from({ length: 41 }, (_, index) => Math.round((quota * index) / 40_000) * 1000);
      return { stops: with_(stops, quota), scale: 1000, unit: "ms", min: 0, max: quota / 1000, step: 1 };
    }
    case "gomaxprocs": {
      const most = Math.max(Math.ceil(nodeCpus), recorded.gomaxprocs ?? 1, 4);
      return { stops: most <= 64 ? Array.from({ length: most }, (_, index) => index + 1) : with_(ratioStops(1, most, 60), most), scale: 1, unit: "", min: 1, max: 4096, step: 1 };
    }
    case "gogc":
      return { stops: with_(GOGC, recorded.gogc), scale: 1, unit: "%", min: 1, max: 100_000, step: 1 };
    case "gomemlimit_bytes": {
      const stops = Array.from({ length: 41 }, (_, index) => Math.round(16 * 2 ** (index / 4)) * MIB);
      return { stops: with_(stops, recorded.gomemlimit_bytes), scale: MIB, unit: "MiB", min: 1, max: 2 ** 30, step: 1 };
    }
    case "replicas":
      return { stops: REPLICAS, scale: 1, unit: "", min: 1, max: MOST_REPLICAS, step: 1 };
  }
}

/** The stop nearest to a value, by ratio if the stops are spaced by ratio. */
export function nearestStop(stops: readonly number[], value: number): number {
  let best = 0;
  stops.forEach((stop, index) => {
    if (Math.abs(stop - value) < Math.abs((stops[best] ?? 0) - value)) best = index;
  });
  return best;
}

/** Initial value of a parameter that is switched on again. */
export function fallbackOf(name: Parameter, recorded: Setting, nodeCpus: number): number {
  if (name === "cpu_limit") return recorded.cpu_limit ?? nodeCpus;
  if (name === "gogc") return recorded.gogc ?? 100;
  if (name === "gomemlimit_bytes") return recorded.gomemlimit_bytes ?? 512 * MIB;
  return 1;
}
