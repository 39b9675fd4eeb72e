import { cloneElement, useEffect, useState, type ReactElement, type ReactNode } from "react";

import type { ButtonProps } from "./Button";
import type * as Parts from "./menuParts";

type MenuParts = typeof Parts;

export interface MenuProps {
  /** The button. */
  trigger: ReactElement<ButtonProps>;
  /** What is in it, made of the parts that it is given. */
  children: (parts: MenuParts) => ReactNode;
}

// Once they are there all menus have them.
let loaded: MenuParts | null = null;

/** A button with a menu. The menu's code comes after the page's: a press before that opens it once it is there. */
export function Menu({ trigger, children }: MenuProps): ReactElement {
  const [parts, setParts] = useState(loaded);
  const [opened, setOpened] = useState(false);
  const [focused, setFocused] = useState(false);
  useEffect(() => {
    if (parts !== null) return;
    // One that cannot be loaded is tried again with the next press.
    import("./menuParts").then(
      (found) => {
        loaded = found;
        setParts(found);
      },
      () => setOpened(false),
    );
  }, [parts, opened]);
  if (parts === null) {
    return cloneElement(trigger, {
      "aria-haspopup": "menu",
      "aria-expanded": false,
      onClick: () => setOpened(true),
      onFocus: () => setFocused(true),
      onBlur: () => setFocused(false),
    });
  }
  return (
    <parts.MenuRoot trigger={trigger} opened={opened} focused={focused}>
      {children(parts)}
    </parts.MenuRoot>
  );
}
