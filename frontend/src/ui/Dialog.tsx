import { Dialog as Radix } from "radix-ui";
import type { ReactElement, ReactNode } from "react";

import styles from "./Dialog.module.css";

export interface DialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: string;
  children: ReactNode;
}

/** A modal dialog: focus is kept inside, Escape closes, the title is announced. */
export function Dialog({ open, onOpenChange, title, description, children }: DialogProps): ReactElement {
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className={styles["overlay"]} />
        <Radix.Content className={styles["content"]} {...(description === undefined ? { "aria-describedby": undefined } : {})}>
          <Radix.Title className={styles["title"]}>{title}</Radix.Title>
          {description !== undefined && <Radix.Description className={styles["description"]}>{description}</Radix.Description>}
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export function DialogActions({ children }: { children: ReactNode }): ReactElement {
  return <div className={styles["actions"]}>{children}</div>;
}
