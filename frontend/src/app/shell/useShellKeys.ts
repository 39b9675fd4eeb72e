import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

import { isTyping, plainKey } from "@/lib/keys";

export interface ShellKeys {
  onPalette: (open: boolean) => void;
  onHelp: (open: boolean) => void;
}

const GO = { h: "/", i: "/incidents", r: "/risks", p: "/fixes", e: "/resources", v: "/services", d: "/dns", t: "/startup", f: "/evidence", o: "/settings/collectors", s: "/settings", c: "/help/causes" } as const;

/** ⌘K or Ctrl K: palette. `?`: help. `g`, then a letter: that page. */
export function useShellKeys({ onPalette, onHelp }: ShellKeys): void {
  const navigate = useNavigate();
  const gAtMs = useRef(-Infinity);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        onPalette(true);
        return;
      }
      const key = plainKey(event);
      if (key === null) return;
      if (key === "?") onHelp(true);
      if (key === "/" && !isTyping(event.target)) {
        event.preventDefault();
        onPalette(true);
      }
      if (event.timeStamp - gAtMs.current < 900 && key in GO) void navigate({ to: GO[key as keyof typeof GO] });
      gAtMs.current = key === "g" ? event.timeStamp : -Infinity;
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [navigate, onPalette, onHelp]);
}
