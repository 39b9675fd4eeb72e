import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { fixesQuery } from "@/api/overview";
import { explain } from "@/api/problem";
import { calibrationQuery, type Calibration } from "@/api/verification";
import { MISSING, count, percent, plural } from "@/lib/format";
import { inSentence } from "@/lib/text";
import { Button } from "@/ui/Button";
import { Page } from "@/ui/Page";
import { Section } from "@/ui/Section";
import { EmptyState, ErrorState, Skeleton } from "@/ui/states";
import { Table, tableStyles } from "@/ui/Table";
import { AppliedFixes } from "@/widgets/AppliedFixes";

import styles from "./FixesPage.module.css";
import { OutcomePlot } from "./OutcomePlot";
import { fixName } from "./words";

/** Every applied fix with its outcome, then the accuracy of all predictions: the product's own record. */
export function FixesPage(): ReactElement {
  const { data, isError, error, refetch } = useQuery(calibrationQuery());
  return (
    <Page title="Fixes" lead="Every applied fix: what was predicted and what was measured afterwards. Nothing is left out.">
      {data === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={5} height={40} label="Loading calibration" />
        )
      ) : (
        <>
          <Explained of={data.explained} />
          {data.outcomes === 0 && data.fixes.length === 0 ? (
            <div className={styles["parts"]}>
              <Applied />
              <Nothing level={data.level} />
            </div>
          ) : (
            <Loaded calibration={data} />
          )}
        </>
      )}
    </Page>
  );
}

/** Applied fixes; nothing if there are none. */
function Applied(): ReactElement | null {
  const { data, isError, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(fixesQuery(null));
  const fixes = data?.pages.flatMap((page) => page.items) ?? [];
  if (isError) return <ErrorState {...explain(error)} onRetry={() => void refetch()} />;
  if (data === undefined) return <Skeleton lines={2} height={40} label="Loading applied fixes" />;
  if (fixes.length === 0) return null;
  return (
    <Section title="Applied fixes" note="Newest first, each with its deciding figure before and after.">
      <AppliedFixes fixes={fixes} />
      {hasNextPage && (
        <Button onClick={() => void fetchNextPage()} disabled={isFetchingNextPage}>
          Show older
        </Button>
      )}
    </Section>
  );
}

/** How many of all slow answers have a known cause; nothing if there were none. */
function Explained({ of: { days, ratio, explained, slow_answers: slow } }: { of: Calibration["explained"] }): ReactElement | null {
  return ratio === null ? null : (
    <p className={styles["record"]}>
      <strong>{percent(ratio)} of all answers over 20 ms have a known cause</strong>: {count(explained)} of {count(slow)} in the last {count(days)} days.
      {explained < slow && " The others came without an incident, as of a server that is always that slow, or in one without a known cause."}
    </p>
  );
}

function Loaded({ calibration }: { calibration: Calibration }): ReactElement {
  const { level, outcomes, inside_ratio: inside, median_error_ratio: error } = calibration;
  return (
    <>
      <p className={styles["record"]}>
        {inside === null ? (
          "No predicted fix has a measured outcome yet."
        ) : (
          <>
            <strong>
              {percent(inside)} of {plural(outcomes, "outcome")} fell inside the predicted interval
            </strong>
            . A well-calibrated model has {percent(level)}. {error !== null && `The median error is ${percent(error)}.`}
            {outcomes < 20 && " With so few outcomes, a single one changes these figures a lot."}
          </>
        )}
      </p>
      <div className={styles["parts"]}>
        <Applied />
        <Section title="By kind of fix" note="Inside: outcomes within their 90 % interval. Median error: distance from prediction to outcome, relative to the outcome or to a tenth of the value before the fix, whichever is larger.">
          <Table label="Predictions by kind of fix">
            <thead>
              <tr>
                <th scope="col">Fix</th>
                <th scope="col" className={tableStyles["number"]}>
                  Inside
                </th>
                <th scope="col" className={tableStyles["number"]}>
                  Median error
                </th>
                <th scope="col" className={tableStyles["number"]}>
                  Outcomes
                </th>
                <th scope="col">Verdicts</th>
                <th scope="col">Inside, by figure</th>
              </tr>
            </thead>
            <tbody>
              {calibration.fixes.map((fix) => (
                <tr key={fix.fix_id}>
                  <th scope="row" className={tableStyles["nowrap"]}>
                    {fixName(fix.fix_id)}
                  </th>
                  <td className={tableStyles["number"]}>{percent(fix.inside_ratio)}</td>
                  <td className={tableStyles["number"]}>{percent(fix.median_error_ratio)}</td>
                  <td className={tableStyles["number"]}>{fix.outcomes}</td>
                  <td className={tableStyles["nowrap"]}>{verdicts(fix)}</td>
                  <td className={styles["figures"]}>
                    {fix.metrics.length === 0 ? MISSING : fix.metrics.map((one) => `${inSentence(one.title)} ${percent(one.inside_ratio)} of ${one.outcomes}`).join(", ")}
                  </td>
                </tr>
              ))}
            </tbody>
          </Table>
        </Section>
        {calibration.recent.length > 0 && (
          <Section title="Predictions and outcomes" note="Newest first, on one axis: 100 % is the value before the fix.">
            <OutcomePlot outcomes={calibration.recent} />
          </Section>
        )}
      </div>
    </>
  );
}

function verdicts(fix: Calibration["fixes"][number]): string {
  const parts = [
    fix.verified > 0 ? `${fix.verified} verified` : "",
    fix.did_not_help > 0 ? `${fix.did_not_help} did not help` : "",
    fix.made_worse > 0 ? `${fix.made_worse} made it worse` : "",
  ].filter(Boolean);
  return parts.length === 0 ? "no verdict yet" : parts.join(", ");
}

function Nothing({ level }: { level: number }): ReactElement {
  return (
    <EmptyState title="No measured fixes yet" action={<Link to="/incidents">Go to incidents</Link>}>
      <p>
        Each fix is predicted on the recorded trace, with an interval that should contain the outcome in {percent(level)} of cases. Once a fix is applied, the time after it is compared with
        the time before, under comparable load. Jitterscope detects the change itself, or a member marks it with “I applied this fix”.
      </p>
      <p>This page then shows, for each kind of fix, how often the outcome fell inside the interval and how far off the predictions were.</p>
    </EmptyState>
  );
}
