import clsx from "clsx";
import type { ButtonHTMLAttributes, ReactElement, Ref } from "react";

import styles from "./Button.module.css";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "plain" | "primary" | "danger" | "quiet";
  /** A keyboard shortcut for the same action, shown next to the label. */
  shortcut?: string;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ kind = "plain", shortcut, className, children, type = "button", ...rest }: ButtonProps): ReactElement {
  return (
    <button type={type} className={clsx(styles["button"], styles[kind], className)} aria-keyshortcuts={shortcut} {...rest}>
      {children}
      {shortcut !== undefined && (
        <kbd className={styles["key"]} aria-hidden="true">
          {shortcut}
        </kbd>
      )}
    </button>
  );
}
