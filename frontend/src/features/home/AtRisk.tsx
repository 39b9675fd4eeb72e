import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { risksQuery } from "@/api/risks";
import { Section } from "@/ui/Section";
import { Async } from "@/widgets/Async";
import { SubjectName } from "@/widgets/SubjectName";

import styles from "./Home.module.css";

const SHOWN = 4;

/** Findings without measured harm: likely incidents if nothing is done. */
export function AtRisk(): ReactElement {
  const { data, isError, error, refetch, hasNextPage } = useInfiniteQuery(risksQuery());
  const risks = data?.pages.flatMap((page) => page.items);
  return (
    <Section title="At risk" note="Findings of the last 24 h without measured harm.">
      <Async query={{ data: risks, isError, error, refetch }} label="Loading risks">
        {(all) =>
          all.length === 0 ? (
            <p className={styles["none"]}>No risks found.</p>
          ) : (
            <>
              <ul className={styles["lines"]}>
                {all.slice(0, SHOWN).map((risk) => (
                  <li key={risk.id}>
                    <Link to="/risks" search={{ open: risk.id }} className={styles["title"]}>
                      {risk.title}
                    </Link>
                    <p className={styles["sub"]}>
                      <SubjectName subject={risk.subject} />
                      <span>{risk.harm_reason}</span>
                    </p>
                  </li>
                ))}
              </ul>
              <p className={styles["more"]}>
                <Link to="/risks">{all.length > SHOWN ? `Show all ${all.length}${hasNextPage ? "+" : ""} risks` : "Go to risks"}</Link>
              </p>
            </>
          )
        }
      </Async>
    </Section>
  );
}
