import { Dialog as Radix } from "radix-ui";
import { useRef, type ReactElement, type ReactNode, type RefObject } from "react";

import styles from "./Dialog.module.css";

export interface DialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: string;
  /** Gets the focus if the element that opened the dialog no longer exists, such as a menu item. */
  returnTo?: RefObject<HTMLElement | null>;
  /** For long lines, such as a diff. */
  wide?: boolean;
  children: ReactNode;
}

/** A modal dialog: focus is trapped inside and then restored, Escape closes it, the title is announced. */
export function Dialog({ open, onOpenChange, title, description, returnTo, wide = false, children }: DialogProps): ReactElement {
  const opener = useRef<Element | null>(null);
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className={styles["overlay"]} />
        <Radix.Content
          className={styles["content"]}
          data-wide={wide}
          onOpenAutoFocus={() => {
            opener.current = document.activeElement;
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            const target = returnTo?.current ?? opener.current;
            if (target instanceof HTMLElement) target.focus();
          }}
          {...(description === undefined ? { "aria-describedby": undefined } : {})}
        >
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
