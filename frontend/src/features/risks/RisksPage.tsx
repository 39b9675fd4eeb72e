import { useInfiniteQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
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

/** Findings without measured harm: listed, but channels are not notified. */
export function RisksPage(): ReactElement {
  const { data, isError, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(risksQuery());
  const risks = data?.pages.flatMap((page) => page.items) ?? [];
  const { open: asked } = useSearch({ strict: false });
  const [open, setOpen] = useState<number | null>(asked ?? null);
  return (
    <Page title="Risks" lead="Findings of the last 24 h without measured harm. Channels are not notified. A risk becomes an incident when it does harm.">
      {data === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={5} height={40} label="Loading risks" />
        )
      ) : risks.length === 0 ? (
        <EmptyState title="No risks found">
          <p>A throttled container without slow answers, or one whose latency is not measured, is listed here with the fixes that remove the throttling.</p>
        </EmptyState>
      ) : (
        <ul className={styles["list"]}>
          {risks.map((risk) => (
            <RiskRow key={risk.id} risk={risk} open={open === risk.id} onToggle={() => setOpen(open === risk.id ? null : risk.id)} />
          ))}
        </ul>
      )}
      {hasNextPage && <Button onClick={() => void fetchNextPage()}>Show older</Button>}
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
      <p className={styles["harm"]}>{risk.harm_reason}</p>
      {open && (
        <div className={styles["detail"]}>
          <p>{risk.summary}</p>
          <Figures figures={risk.figures} />
          <div>
            <h3>Evidence</h3>
            <Evidence evidence={risk.evidence} />
          </div>
          {risk.fixes.length > 0 && (
            <div>
              <h3>What to change</h3>
              <FixList fixes={risk.fixes} figures={risk.figures} />
            </div>
          )}
        </div>
      )}
    </li>
  );
}
