/** The value of a fact as people write it. Pure. */

import { bytes, microseconds } from "@/lib/format";

export function factText({ name, value }: { readonly name: string; readonly value: string }): string {
  const number = Number(value);
  if (value === "" || Number.isNaN(number)) return structured(value) ?? value;
  if (number === -1 && /quota|limit/.test(name)) return "no limit";
  if (name === "cpu.quota_us") return `${microseconds(number)} per period`;
  if (name.endsWith("_us")) return microseconds(number);
  if (name.endsWith("_bytes")) return bytes(number);
  return value;
}

/** Lists and maps arrive as JSON; null: it is none, or one of more than plain values. */
function structured(value: string): string | null {
  if (!/^[[{]/.test(value)) return null;
  let read: unknown;
  try {
    read = JSON.parse(value);
  } catch {
    return null;
  }
  if (typeof read !== "object" || read === null) return null;
  const values: unknown[] = Object.values(read);
  if (!values.every(isPlain)) return null;
  const parts = Array.isArray(read) ? values.map(String) : Object.entries(read).map(([name, one]) => `${name} ${String(one)}`);
  return parts.length === 0 ? "none" : parts.join(", ");
}

const isPlain = (value: unknown): boolean => ["string", "number", "boolean"].includes(typeof value);
