import { useId, type ReactElement, type ReactNode } from "react";

import styles from "./Field.module.css";

export interface FieldProps {
  label: string;
  hint?: ReactNode;
  error?: string | null;
  children: (attributes: { id: string; "aria-describedby": string | undefined; "aria-invalid": boolean; className: string | undefined }) => ReactElement;
}

/** A labeled form control with its hint and error. */
export function Field({ label, hint, error, children }: FieldProps): ReactElement {
  const id = useId();
  const hasError = error != null && error !== "";
  const describedBy = [hint !== undefined ? `${id}-hint` : "", hasError ? `${id}-error` : ""].filter(Boolean).join(" ");
  return (
    <div className={styles["field"]}>
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-describedby": describedBy === "" ? undefined : describedBy, "aria-invalid": hasError, className: styles["control"] })}
      {hint !== undefined && (
        <p id={`${id}-hint`} className={styles["hint"]}>
          {hint}
        </p>
      )}
      {hasError && (
        <p id={`${id}-error`} className={styles["error"]} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
