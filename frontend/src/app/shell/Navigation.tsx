import { Link, useLocation } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { isPage, pageOf, placeOf, PLACES } from "./places";
import styles from "./Shell.module.css";

// The current item follows from the place, not from the address alone.
const NEVER_BY_ITSELF = { exact: true, explicitUndefined: true } as const;

/** The places of the product. */
export function Places(): ReactElement {
  const current = useLocation({ select: ({ pathname }) => placeOf(pathname)?.to });
  return (
    <nav className={styles["nav"]} aria-label="Pages">
      {PLACES.map((place) => (
        <Link key={place.to} to={place.to} activeOptions={NEVER_BY_ITSELF} className={styles["link"]} data-active={place.to === current || undefined} aria-current={place.to === current ? "true" : undefined}>
          {place.label}
        </Link>
      ))}
    </nav>
  );
}

/** Tabs of the current place. An incident or a resource has none: its content comes first. */
export function PlacePages(): ReactElement | null {
  const pathname = useLocation({ select: (location) => location.pathname });
  const kind = useLocation({ select: ({ search }) => ("kind" in search ? search.kind : undefined) });
  const place = placeOf(pathname);
  if (place === null || !isPage(place, pathname)) return null;
  const current = pageOf(place, pathname, kind);
  return (
    <nav className={styles["pages"]} aria-label={place.label}>
      {place.pages.map((page) => (
        <Link
          key={page.label}
          to={page.to}
          search={{ kind: page.kind }}
          activeOptions={NEVER_BY_ITSELF}
          className={styles["page"]}
          data-active={page === current || undefined}
          aria-current={page === current ? "page" : undefined}
        >
          {page.label}
        </Link>
      ))}
    </nav>
  );
}
