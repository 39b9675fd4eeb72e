import { useContext, useEffect, useRef, type ReactElement, type ReactNode } from "react";

import { unbroken } from "@/lib/text";

import { OpenCount } from "./openCount";
import styles from "./Page.module.css";
import { useSettled } from "./useSettled";

export interface PageProps {
  /** Also used in the document's title, after the number of open incidents. */
  title: string;
  /** Hides the visible heading if the page has its own. */
  ownHeading?: boolean;
  /** A link to the parent of the page, if no tabs show it. */
  within?: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Page({ title, ownHeading = false, within, lead, actions, children }: PageProps): ReactElement {
  const open = useContext(OpenCount);
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    document.title = `${open === null ? "" : `(${open}) `}${title} · Jitterscope`;
  }, [title, open]);
  useSettled(main, title);
  return (
    <main id="main" ref={main} tabIndex={-1} className={styles["page"]}>
      {!ownHeading && (
        <div className={styles["head"]}>
          <div>
            {within !== undefined && (
              <nav className={styles["within"]} aria-label="Breadcrumbs">
                {within}
              </nav>
            )}
            <h1>{title}</h1>
            {lead !== undefined && <div className={styles["lead"]}>{typeof lead === "string" ? unbroken(lead) : lead}</div>}
          </div>
          {actions !== undefined && <div className={styles["actions"]}>{actions}</div>}
        </div>
      )}
      {children}
    </main>
  );
}
