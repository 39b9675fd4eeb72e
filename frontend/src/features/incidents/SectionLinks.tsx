import type { MouseEvent, ReactElement } from "react";

import styles from "./IncidentPage.module.css";

export interface SectionLink {
  /** The id of its element. */
  readonly id: string;
  readonly name: string;
}

/** Links to the sections of the page, which stay in view. `ready`: the sections are known. */
export function SectionLinks({ links, ready }: { links: readonly SectionLink[]; ready: boolean }): ReactElement {
  return (
    <nav aria-label="Sections" className={styles["sections"]} style={ready ? undefined : { visibility: "hidden" }}>
      {links.map(({ id, name }) => (
        <a key={id} href={`#${id}`} onClick={jump}>
          {name}
        </a>
      ))}
    </nav>
  );
}

/** Without an entry in the browser's history, whose entries are views of the timeline. */
function jump(event: MouseEvent<HTMLAnchorElement>): void {
  const part = document.getElementById(event.currentTarget.hash.slice(1));
  if (part === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  part.scrollIntoView({ block: "start" });
  part.focus({ preventScroll: true });
}
