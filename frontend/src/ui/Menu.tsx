import { cloneElement, useEffect, useState, type ReactElement, type ReactNode } from "react";

import type { ButtonProps } from "./Button";
import type * as Parts from "./menuParts";

type MenuParts = typeof Parts;

export interface MenuProps {
  /** The button. */
  trigger: ReactElement<ButtonProps>;
  /** The menu's content, built from the given parts. */
  children: (parts: MenuParts) => ReactNode;
}

// Once loaded, all menus share them.
let loaded: MenuParts | null = null;

/** A button with a menu. The menu's code loads after the page: an earlier click opens the menu once it has loaded. */
export function Menu({ trigger, children }: MenuProps): ReactElement {
  const [parts, setParts] = useState(loaded);
  const [opened, setOpened] = useState(false);
  const [focused, setFocused] = useState(false);
  useEffect(() => {
    if (parts !== null) return;
    // A failed load is retried on the next click.
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
