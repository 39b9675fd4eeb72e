import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent, type ReactElement } from "react";

import { compareWindow } from "@/lib/compareWindow";
import { plainKey } from "@/lib/keys";
import type { TimeView } from "@/lib/timeView";
import { Button } from "@/ui/Button";
import { usePageCommand } from "@/ui/pageCommands";

/** Opens Compare with a chart's window, by click; if `hasKey`, also with the x key and from the palette. */
export function CompareButton({ resourceId, view, hasKey = false, label }: { resourceId: number; view: TimeView; hasKey?: boolean; label?: string }): ReactElement {
  const navigate = useNavigate();
  const open = (): void => {
    const { fromUs, toUs } = compareWindow(view);
    void navigate({ to: "/compare", search: { resource: resourceId, from: fromUs, to: toUs } });
  };
  usePageCommand(hasKey ? "Compare with another time" : null, open);
  const press = useEffectEvent((event: KeyboardEvent) => {
    if (plainKey(event) === "x") open();
  });
  useEffect(() => {
    if (!hasKey) return undefined;
    const listener = (event: KeyboardEvent): void => press(event);
    window.addEventListener("keydown", listener);
    return () => window.removeEventListener("keydown", listener);
  }, [hasKey]);
  return (
    <Button kind={hasKey ? "plain" : "quiet"} aria-label={label} onClick={open} {...(hasKey ? { shortcut: "x" } : {})}>
      Compare
    </Button>
  );
}
