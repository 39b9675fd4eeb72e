/** A setting to try, as a difference from the recorded one: in words, in the URL, from a fix. Pure. */

import type { Schemas } from "@/api/client";
import type { Setting, SettingChange } from "@/api/whatif";
import { bytes, cpus, significant } from "@/lib/format";
import { duration } from "@/lib/time";

export type Parameter = keyof Setting;
export const PARAMETERS: readonly Parameter[] = ["cpu_limit", "period_us", "burst_us", "gomaxprocs", "gogc", "gomemlimit_bytes", "replicas"];

export const GO_ONLY: ReadonlySet<Parameter> = new Set(["gomaxprocs", "gogc", "gomemlimit_bytes"]);

export const NAMES: Record<Parameter, string> = {
  cpu_limit: "CPU limit",
  period_us: "Period",
  burst_us: "Burst",
  gomaxprocs: "GOMAXPROCS",
  gogc: "GOGC",
  gomemlimit_bytes: "GOMEMLIMIT",
  replicas: "Replicas",
};

/** The meaning of null, where it is a value of its own. */
export const NULLS: Partial<Record<Parameter, string>> = { cpu_limit: "no limit", gogc: "off", gomemlimit_bytes: "none" };

export function quotaUs(setting: Setting): number | null {
  return setting.cpu_limit === null ? null : Math.round(setting.cpu_limit * setting.period_us);
}

/** The complete setting after a change of the recorded one. The kernel allows no burst above the quota. */
export function applied(recorded: Setting, change: SettingChange): Setting {
  const given = Object.fromEntries(Object.entries(change).filter(([name, value]) => value !== null || name in NULLS));
  const setting: Setting = { ...recorded, ...given };
  const quota = quotaUs(setting);
  return { ...setting, burst_us: quota === null ? 0 : Math.min(setting.burst_us, quota) };
}

/** The smallest change from the recorded setting to another. */
export function difference(recorded: Setting, setting: Setting): SettingChange {
  return Object.fromEntries(PARAMETERS.filter((name) => setting[name] !== recorded[name]).map((name) => [name, setting[name]]));
}

export function valueText(name: Parameter, value: number | null): string {
  if (value === null) return NULLS[name] ?? "not a Go program";
  switch (name) {
    case "cpu_limit":
      return cpus(value);
    case "period_us":
    case "burst_us":
      return value === 0 ? "0 ms" : duration(value);
    case "gogc":
      return `${significant(value)} %`;
    case "gomemlimit_bytes":
      return bytes(value);
    case "gomaxprocs":
      return String(value);
    case "replicas":
      return `${significant(value)} ×`;
  }
}

/** "CPU limit 2 CPU, GOGC off"; empty if nothing is changed. */
export function changeText(change: SettingChange): string {
  return PARAMETERS.filter((name) => change[name] !== undefined)
    .map((name) => `${NAMES[name]} ${valueText(name, change[name] ?? null)}`)
    .join(", ");
}

/** As in the URL: "cpu_limit:2,gogc:off". */
export function formatChange(change: SettingChange): string | undefined {
  const parts = PARAMETERS.filter((name) => change[name] !== undefined).map((name) => `${name}:${change[name] ?? "off"}`);
  return parts.length === 0 ? undefined : parts.join(",");
}

export function parseChange(text: string | undefined): SettingChange {
  const change: Partial<Record<Parameter, number | null>> = {};
  for (const part of (text ?? "").split(",")) {
    const [name, value = ""] = part.split(":");
    const known = PARAMETERS.find((parameter) => parameter === name);
    if (known === undefined) continue;
    const number = Number(value);
    if (value === "off" && known in NULLS) change[known] = null;
    else if (value !== "" && Number.isFinite(number) && number >= 0) change[known] = number;
  }
  return change;
}

/** A fix as a change of the recorded setting; null if it changes no known parameter. */
export function changeOfFix(fix: Pick<Schemas["Fix"], "setting">, recorded: Setting): SettingChange | null {
  // GOMAXPROCS applies only to a Go program.
  const skipped = (name: Parameter): boolean => name === "gomaxprocs" && recorded.gomaxprocs === null;
  const set = PARAMETERS.flatMap((name) => {
    const value = fix.setting?.[name];
    return value == null || skipped(name) ? [] : [[name, value === "off" ? null : value] as const];
  });
  return set.length === 0 ? null : Object.fromEntries(set);
}
