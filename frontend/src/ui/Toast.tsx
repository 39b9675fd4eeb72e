import { Toast as Radix } from "radix-ui";
import { createContext, useCallback, useContext, useMemo, useState, type ReactElement, type ReactNode } from "react";

import { Button } from "./Button";
import styles from "./Toast.module.css";

interface ToastMessage {
  text: string;
  tone?: "neutral" | "error";
  /** Offers to undo the action. */
  undo?: () => void;
}

type Show = (message: ToastMessage) => void;

const ToastContext = createContext<Show>(() => undefined);

export const useToast = (): Show => useContext(ToastContext);

interface Shown extends ToastMessage {
  id: number;
}

let nextId = 1;

export function ToastProvider({ children }: { children: ReactNode }): ReactElement {
  const [shown, setShown] = useState<Shown[]>([]);
  const show = useCallback<Show>((message) => setShown((all) => [...all.slice(-2), { ...message, id: nextId++ }]), []);
  const drop = useCallback((id: number) => setShown((all) => all.filter((toast) => toast.id !== id)), []);
  const viewport = useMemo(() => <Radix.Viewport className={styles["viewport"]} />, []);
  return (
    <ToastContext value={show}>
      <Radix.Provider duration={6000} swipeDirection="down">
        {children}
        {shown.map((toast) => (
          <Radix.Root key={toast.id} className={styles["toast"]} data-tone={toast.tone} duration={toast.tone === "error" ? 20_000 : 6000} onOpenChange={(open) => !open && drop(toast.id)}>
            <Radix.Description className={styles["text"]}>{toast.text}</Radix.Description>
            {toast.undo !== undefined && (
              <Radix.Action altText="Undo" asChild onClick={toast.undo}>
                <Button kind="plain">Undo</Button>
              </Radix.Action>
            )}
            <Radix.Close asChild>
              <Button kind="quiet" aria-label="Dismiss">
                ✕
              </Button>
            </Radix.Close>
          </Radix.Root>
        ))}
        {viewport}
      </Radix.Provider>
    </ToastContext>
  );
}
