import { useId, type MouseEvent, type ReactElement } from "react";

import { Button, type ButtonProps } from "./Button";
import { useToast } from "./Toast";

export interface ActionButtonProps extends ButtonProps {
  /** Why the user cannot do this; null: allowed. */
  refusal: string | null;
}

/** A button for an action that can be refused. Refused, it stays focusable and tells the reason instead of acting. */
export function ActionButton({ refusal, ...button }: ActionButtonProps): ReactElement {
  const id = useId();
  const toast = useToast();
  if (refusal === null) return <Button {...button} />;
  const tell = (event: MouseEvent): void => {
    // It must not submit its form.
    event.preventDefault();
    toast({ text: refusal });
  };
  return (
    <>
      <Button {...button} disabled={false} aria-disabled title={refusal} aria-describedby={id} onClick={tell} />
      <span id={id} hidden>
        {refusal}
      </span>
    </>
  );
}
