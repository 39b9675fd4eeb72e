import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { ActionButton } from "@/ui/ActionButton";

import { useRefusal } from "./useRefusal";

/** Leads to the form for a new collector or sender, if the user may add one. */
export function AddCollectorLink({ children = "Add collector" }: { children?: string }): ReactElement {
  const refusal = useRefusal("collectors:write");
  if (refusal !== null) return <ActionButton refusal={refusal}>{children}</ActionButton>;
  return (
    <Link to="/settings/collectors" search={{ add: true }}>
      {children}
    </Link>
  );
}
