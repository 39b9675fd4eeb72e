import { useInfiniteQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";

import { explain } from "@/api/problem";
import { risksQuery, type Risk } from "@/api/risks";
import { Button } from "@/ui/Button";
import { Page } from "@/ui/Page";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";
import { Time } from "@/ui/Time";
import { Evidence } from "@/widgets/Evidence";
import { Figures } from "@/widgets/Figures";
import { FixList } from "@/widgets/FixList";
import { SubjectName } from "@/widgets/SubjectName";

import styles from "./RisksPage.module.css";

/** Findings that hurt nobody yet: listed, not sent. */
export function RisksPage(): ReactElement {
  const { data, isError, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(risksQuery());
  const risks = data?.pages.flatMap((page) => page.items) ?? [];
  const [open, setOpen] = useState<number | null>(null);
  return (
    <Page title="Risks" lead="Found in the last 24 hours, but nobody was hurt: no answer became slow. Nothing is sent for them; each becomes an incident if it begins to hurt.">
      {data === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={5} height={40} label="Loading risks" />
        )
      ) : risks.length === 0 ? (
        <EmptyState title="No risk was found">
          <p>A container that its CPU limit throttles without a slow answer, or whose latency is not known, would be listed here with the fixes that remove the throttling.</p>
        </EmptyState>
      ) : (
        <ul className={styles["list"]}>
          {risks.map((risk) => (
            <RiskRow key={risk.id} risk={risk} open={open === risk.id} onToggle={() => setOpen(open === risk.id ? null : risk.id)} />
          ))}
        </ul>
      )}
      {hasNextPage && <Button onClick={() => void fetchNextPage()}>Show older ones</Button>}
    </Page>
  );
}

function RiskRow({ risk, open, onToggle }: { risk: Risk; open: boolean; onToggle: () => void }): ReactElement {
  return (
    <li className={styles["risk"]}>
      <div className={styles["head"]}>
        <button type="button" className={styles["toggle"]} aria-expanded={open} onClick={onToggle}>
          <span aria-hidden="true">{open ? "▾" : "▸"}</span>
          {risk.title}
        </button>
        <span className={styles["when"]}>
          <Time at={risk.last_seen_at} />
        </span>
      </div>
      <p className={styles["sub"]}>
        <SubjectName subject={risk.subject} /> · {risk.cause_title} · since <Time at={risk.first_seen_at} style="clock" />
      </p>
      {open && (
        <div className={styles["detail"]}>
          <p>{risk.summary}</p>
          <Figures impact={risk.impact} />
          <div>
            <h3>Evidence</h3>
            <Evidence evidence={risk.evidence} />
          </div>
          {risk.fixes.length > 0 && (
            <div>
              <h3>What to change</h3>
              <FixList fixes={risk.fixes} impact={risk.impact} />
            </div>
          )}
        </div>
      )}
    </li>
  );
}
