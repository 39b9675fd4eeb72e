import type { ReactElement } from "react";

import styles from "./IncidentPage.module.css";
import { jump } from "./jump";

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
