import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { isMac } from "@/lib/keys";
import { Page } from "@/ui/Page";

import styles from "./NotFound.module.css";
import { PLACES } from "./shell/places";

/** An unknown address: where to go instead, and how to search. */
export function NotFound(): ReactElement {
  return (
    <Page title="Page not found" lead="The address is mistyped or belongs to a different version.">
      <nav aria-label="Places to go">
        <ul className={styles["places"]}>
          {PLACES.map(({ to, label, pages }) => (
            <li key={to}>
              <Link to={to}>{label}</Link>
              {pages.length > 0 && <span>{pages.map((page) => page.label).join(", ")}</span>}
            </li>
          ))}
        </ul>
      </nav>
      <p className={styles["search"]}>
        Search finds pages, incidents, and resources. Press <kbd>{isMac() ? "⌘" : "Ctrl "}K</kbd>, or use Search in the top bar.
      </p>
    </Page>
  );
}
