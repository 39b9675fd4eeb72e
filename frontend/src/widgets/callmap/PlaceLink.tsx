import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";

import type { MapCall, MapPlace } from "@/api/services";

/** The window of the map, which the pages behind its links have too. */
export interface LinkWindow {
  minutes: number;
  /** End of the window, µs; absent: now. */
  to?: number | undefined;
}

export interface PlaceLinkProps {
  /** What to open: a place's own resource, or a call's server. */
  opens: MapPlace["opens"] | MapCall["opens"];
  window: LinkWindow;
  children: ReactNode;
}

/** A link to a server's page at the window of the map; plain text for clients, which have none. */
export function PlaceLink({ opens, window, children }: PlaceLinkProps): ReactElement {
  if (opens === null) return <>{children}</>;
  return (
    <Link to="/resources/$resourceId" params={{ resourceId: opens.id }} search={{ ...window }}>
      {children}
    </Link>
  );
}
