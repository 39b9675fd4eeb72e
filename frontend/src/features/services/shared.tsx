/** What the table and the map of services have in common: what was found, and that nothing was. */

import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";

import { clock } from "@/lib/time";
import { EmptyState } from "@/ui/states";

import styles from "./Services.module.css";

/** How much was found, in words, and the window it was found in. */
export function FoundIn({ fromUs, toUs, children }: { fromUs: number; toUs: number; children: ReactNode }): ReactElement {
  return (
    <p className={styles["window"]} role="status">
      {children}
      {clock(fromUs).slice(0, 5)} to {clock(toUs).slice(0, 5)} local
    </p>
  );
}

/** `covers`: the names that a search compares. The children say what a collector needs to find some. */
export function Nothing({ what, covers, isFiltered, children }: { what: "calls" | "services"; covers: string; isFiltered: boolean; children: ReactNode }): ReactElement {
  if (isFiltered) {
    return (
      <EmptyState title={`No ${what} match`}>
        <p>The search covers names of {covers}. Shorten the text, or choose a longer window.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title={`No ${what} in this window`} action={<Link to="/settings/collectors">Go to collectors</Link>}>
      {children}
    </EmptyState>
  );
}
