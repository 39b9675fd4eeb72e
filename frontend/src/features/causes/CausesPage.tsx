import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { causesQuery, type CauseInfo } from "@/api/causes";
import { explain } from "@/api/problem";
import { Page } from "@/ui/Page";
import { ErrorState, Skeleton } from "@/ui/states";
import { Prose } from "@/widgets/Prose";
import { References } from "@/widgets/References";

import styles from "./CausesPage.module.css";

const route = getRouteApi("/signed-in/help/causes");

/** The causes that Jitterscope can find: mechanism, required metrics, similar causes. */
export function CausesPage(): ReactElement {
  const { cause: chosenId } = route.useSearch();
  const { data: causes, isError, error, refetch } = useQuery(causesQuery());
  const chosen = causes?.find((cause) => cause.id === chosenId) ?? causes?.[0];
  return (
    <Page title="Causes" lead="Every root cause that Jitterscope can name. Each needs evidence of its mechanism, not only of the symptom.">
      {causes === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={5} height={40} label="Loading causes" />
        )
      ) : (
        <div className={styles["columns"]}>
          <nav aria-label="Causes">
            <ul className={styles["list"]}>
              {causes.map((cause) => (
                <li key={cause.id}>
                  <Link to="/help/causes" search={{ cause: cause.id }} className={styles["item"]} aria-current={cause === chosen ? "true" : undefined}>
                    {cause.title}
                    <code>{cause.id}</code>
                  </Link>
                </li>
              ))}
            </ul>
          </nav>
          {chosen !== undefined && <Cause cause={chosen} />}
        </div>
      )}
    </Page>
  );
}

function Cause({ cause }: { cause: CauseInfo }): ReactElement {
  return (
    <article className={styles["cause"]}>
      <h2>{cause.title}</h2>
      <p className={styles["summary"]}>
        <Prose text={cause.summary} />
      </p>
      <p className={styles["found"]}>
        <Link to="/incidents" search={{ state: "all", q: cause.id }}>
          Incidents with this cause
        </Link>
      </p>
      <h3>How it happens</h3>
      <p>
        <Prose text={cause.mechanism} />
      </p>
      <h3>Similar causes</h3>
      <ul>
        {cause.rivals.map((rival) => (
          <li key={rival.id}>
            <Link to="/help/causes" search={{ cause: rival.id }}>
              {rival.title}
            </Link>
          </li>
        ))}
      </ul>
      {cause.false_positives.length > 0 && (
        <>
          <h3>Possible false positives</h3>
          <ul>
            {cause.false_positives.map((text) => (
              <li key={text}>
                <Prose text={text} />
              </li>
            ))}
          </ul>
        </>
      )}
      <h3>Metrics it needs</h3>
      <p className={styles["needs"]}>
        {cause.needs.map((metric) => (
          <code key={metric}>{metric}</code>
        ))}
      </p>
      <h3>References</h3>
      <References references={cause.references} />
    </article>
  );
}
