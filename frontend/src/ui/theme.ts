/** The selected theme (system, light, dark), stored across visits, and the colors for canvases. */

import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const KEY = "jitterscope.theme";
const listeners = new Set<() => void>();
const systemDark = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;

function notify(): void {
  for (const listener of listeners) listener();
}

systemDark?.addEventListener("change", notify);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function current(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

export function setTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Forbidden storage: the choice lasts for this page only.
  }
  notify();
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, current);
}

/** "light" or "dark": the theme in effect. */
export function useResolvedTheme(): "light" | "dark" {
  return useSyncExternalStore(subscribe, () => {
    const theme = current();
    if (theme !== "system") return theme;
    return systemDark?.matches === true ? "dark" : "light";
  });
}

/** A token as a canvas color. */
export function resolveColor(token: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${token})`;
  probe.style.display = "none";
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}
