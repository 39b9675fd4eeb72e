import { useEffect, useState, type ReactElement } from "react";

import { Button, type ButtonProps } from "./Button";

export interface CopyButtonProps extends Omit<ButtonProps, "onClick"> {
  text: string;
  label?: string;
  onCopied?: () => void;
}

/** Copies to the clipboard and confirms it, also to screen readers. */
export function CopyButton({ text, label = "Copy", onCopied, ...rest }: CopyButtonProps): ReactElement {
  const [state, setState] = useState<"idle" | "copied" | "refused">("idle");

  useEffect(() => {
    if (state === "idle") return undefined;
    const timer = setTimeout(() => setState("idle"), 2000);
    return () => clearTimeout(timer);
  }, [state]);

  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setState("copied");
      onCopied?.();
    } catch {
      setState("refused");
    }
  };

  return (
    <Button {...rest} onClick={() => void copy()}>
      <span aria-live="polite">{state === "copied" ? "Copied ✓" : state === "refused" ? "Select and copy" : label}</span>
    </Button>
  );
}
