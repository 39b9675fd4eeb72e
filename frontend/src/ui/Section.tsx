import { useId, type ReactElement, type ReactNode } from "react";

import styles from "./Section.module.css";

export interface SectionProps {
  title: string;
  /** One line under the title. */
  note?: ReactNode;
  /** To the right of the title. */
  aside?: ReactNode;
  children: ReactNode;
}

/** A titled part of a page, set off by a rule and space, never a card inside a card. */
export function Section({ title, note, aside, children }: SectionProps): ReactElement {
  const id = useId();
  return (
    <section className={styles["section"]} aria-labelledby={id}>
      <div className={styles["head"]}>
        <h2 id={id}>{title}</h2>
        {aside !== undefined && <div className={styles["aside"]}>{aside}</div>}
        {note !== undefined && <p className={styles["note"]}>{note}</p>}
      </div>
      {children}
    </section>
  );
}
