import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useCallback, type ReactElement } from "react";

import { analysesQuery, unfinished, type AnalysisSummary } from "@/api/analyses";
import { explain } from "@/api/problem";
import { bytes, plural } from "@/lib/format";
import { Button } from "@/ui/Button";
import { Page } from "@/ui/Page";
import { Section } from "@/ui/Section";
import { ErrorState, Skeleton } from "@/ui/states";
import { Time } from "@/ui/Time";
import { useRefusal } from "@/widgets/useRefusal";

import { DropZone } from "./DropZone";
import styles from "./Evidence.module.css";
import { ProgressBar } from "./ProgressBar";
import { useUploads } from "./useUploads";

/** Files recorded by hand, and their results. */
export function EvidencePage(): ReactElement {
  const { data, isError, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(analysesQuery());
  const navigate = useNavigate();
  const refusal = useRefusal("analyses:write");
  const open = useCallback(
    (analysis: AnalysisSummary, of: number) => {
      // One file: go to its result.
      if (of === 1) void navigate({ to: "/evidence/$analysisId", params: { analysisId: analysis.id } });
    },
    [navigate],
  );
  const { uploads, add, dismiss } = useUploads(open);
  const analyses = data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Page title="Evidence files" lead="Recordings made by hand, diagnosed by the same rules as live data. Each result also says what the file cannot show.">
      <DropZone refusal={refusal} onFiles={add} />
      {uploads.length > 0 && (
        <ul className={styles["uploads"]} aria-label="Uploads">
          {uploads.map((upload) => (
            <li key={upload.key}>
              <div className={styles["uploadHead"]}>
                <strong>{upload.name}</strong>
                <span className={styles["dim"]}>{bytes(upload.size)}</span>
                <Button kind="quiet" aria-label={`${upload.problem === null ? "Cancel" : "Dismiss"} ${upload.name}`} onClick={() => dismiss(upload.key)}>
                  {upload.problem === null ? "Cancel" : "Dismiss"}
                </Button>
              </div>
              {upload.problem === null ? (
                <ProgressBar ratio={upload.ratio} label={`Uploading ${upload.name}`} />
              ) : (
                <p role="alert" className={styles["problem"]}>
                  {upload.problem}
                </p>
              )}
            </li>
          ))}
        </ul>
      )}
      <Section title="Analyses">
        {data === undefined ? (
          isError ? (
            <ErrorState {...explain(error)} onRetry={() => void refetch()} />
          ) : (
            <Skeleton lines={4} height={40} label="Loading analyses" />
          )
        ) : analyses.length === 0 ? (
          <p className={styles["dim"]}>
            No analyses yet. Without a browser, run <code>jitterscope analyze FILE…</code>. For a load test, run <code>jitterscope dns-bench</code>.
          </p>
        ) : (
          <ul className={styles["list"]}>
            {analyses.map((analysis) => (
              <AnalysisRow key={analysis.id} analysis={analysis} />
            ))}
          </ul>
        )}
        {hasNextPage && <Button onClick={() => void fetchNextPage()}>Show older</Button>}
      </Section>
    </Page>
  );
}

function AnalysisRow({ analysis }: { analysis: AnalysisSummary }): ReactElement {
  const { name, kind_title: kind, state, summary, problem, findings } = analysis;
  return (
    <li className={styles["row"]} data-state={state}>
      <div className={styles["rowHead"]}>
        <Link to="/evidence/$analysisId" params={{ analysisId: analysis.id }} className={styles["name"]}>
          {name}
        </Link>
        <span className={styles["when"]}>
          <Time at={analysis.created_at} />
        </span>
      </div>
      <p className={styles["sub"]}>
        {[kind, analysis.size_bytes > 0 ? bytes(analysis.size_bytes) : null, analysis.created_by].filter((part) => part !== null).join(" · ")}
      </p>
      {unfinished(analysis) && (state === "queued" ? <p>Waiting for a worker</p> : <ProgressBar ratio={analysis.progress_ratio} label={`Reading ${name}`} />)}
      {state === "done" && (
        <p>
          {findings > 0 && <strong className={styles["found"]}>{plural(findings, "cause")} found. </strong>}
          {summary}
        </p>
      )}
      {problem !== null && (
        <p className={styles["problem"]}>
          {problem.title}. {problem.detail}
        </p>
      )}
    </li>
  );
}
