/** The part that opens below a button, in a separate chunk so that a page does not wait for it: see Menu. */

import { DropdownMenu as Radix } from "radix-ui";
import { useEffect, useRef, type ReactElement, type ReactNode } from "react";

import styles from "./Menu.module.css";

export interface MenuRootProps {
  trigger: ReactElement;
  /** Its button was clicked or focused before this code had loaded. */
  opened: boolean;
  focused: boolean;
  children: ReactNode;
}

export function MenuRoot({ trigger, opened, focused, children }: MenuRootProps): ReactElement {
  const button = useRef<HTMLButtonElement>(null);
  const had = useRef(focused);
  useEffect(() => {
    if (had.current) button.current?.focus();
  }, []);
  return (
    <Radix.Root modal={false} defaultOpen={opened}>
      <Radix.Trigger asChild ref={button}>
        {trigger}
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className={styles["menu"]} align="end" sideOffset={6}>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export function MenuItem({ onSelect, children }: { onSelect: () => void; children: ReactNode }): ReactElement {
  return (
    <Radix.Item className={styles["item"]} onSelect={onSelect}>
      {children}
    </Radix.Item>
  );
}

export interface MenuChoiceProps<Value extends string> {
  label: string;
  value: Value;
  choices: readonly (readonly [Value, string])[];
  onChange: (value: Value) => void;
}

export function MenuChoice<Value extends string>({ label, value, choices, onChange }: MenuChoiceProps<Value>): ReactElement {
  return (
    <Radix.RadioGroup value={value} aria-label={label}>
      <Radix.Label className={styles["label"]}>{label}</Radix.Label>
      {choices.map(([choice, text]) => (
        <Radix.RadioItem
          key={choice}
          value={choice}
          className={styles["item"]}
          onSelect={(event) => {
            event.preventDefault();
            onChange(choice);
          }}
        >
          <span className={styles["mark"]} aria-hidden="true">
            {choice === value ? "●" : ""}
          </span>
          {text}
        </Radix.RadioItem>
      ))}
    </Radix.RadioGroup>
  );
}

export function MenuLabel({ children }: { children: ReactNode }): ReactElement {
  return <Radix.Label className={styles["label"]}>{children}</Radix.Label>;
}

export function MenuSeparator(): ReactElement {
  return <Radix.Separator className={styles["separator"]} />;
}
