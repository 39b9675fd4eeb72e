import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";

import { risksQuery } from "@/api/risks";
import { Button } from "@/ui/Button";
import { Section } from "@/ui/Section";
import { Pending } from "@/ui/states";
import { Time } from "@/ui/Time";
import { SubjectName } from "@/widgets/SubjectName";

import styles from "./Collectors.module.css";

/** Risks of the product's own processes; nothing if there are none. */
export function OwnRisks(): ReactElement | null {
  const { data, isPending, hasNextPage, fetchNextPage } = useInfiniteQuery(risksQuery({ own: true }));
  if (isPending) return <Pending />;
  const risks = data?.pages.flatMap(({ items }) => items) ?? [];
  if (risks.length === 0) return null;
  return (
    <div className={styles["tokens"]}>
      <Section title="Jitterscope itself" note="Findings of the last 24 h about Jitterscope's own containers and collectors, without measured harm. They are not listed under Risks.">
        <ul>
          {risks.map((risk) => (
            <li key={risk.id} className={styles["collector"]}>
              <h3>{risk.title}</h3>
              <p className={styles["numbers"]}>
                <SubjectName subject={risk.subject} /> · {risk.subject.node} · last seen <Time at={risk.last_seen_at} />
              </p>
              <p className={styles["hint"]}>{risk.summary}</p>
            </li>
          ))}
        </ul>
        {hasNextPage && <Button onClick={() => void fetchNextPage()}>Show older</Button>}
      </Section>
    </div>
  );
}
