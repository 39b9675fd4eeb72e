import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";

import { explain } from "@/api/problem";
import { linksQuery, sharingPolicyQuery, useAllowLinks } from "@/api/sharing";
import { ActionButton } from "@/ui/ActionButton";
import { Button } from "@/ui/Button";
import { Section } from "@/ui/Section";
import { ErrorState, Skeleton } from "@/ui/states";
import { Time } from "@/ui/Time";
import { useToast } from "@/ui/Toast";
import { Async } from "@/widgets/Async";
import { LinkTable } from "@/widgets/LinkTable";
import { useRefusal } from "@/widgets/useRefusal";
import { useTellError } from "@/widgets/useTellError";

import styles from "./Settings.module.css";

/** Whether read-only links are allowed, and a list of all links. */
export function SharedLinks(): ReactElement {
  const policy = useQuery(sharingPolicyQuery());
  const refusal = useRefusal("organizations:write");
  return (
    <>
      <Section title="Read-only links" note="Anyone with the link can read one incident without an account. It expires after at most 90 days.">
        <Async query={policy} label="Loading sharing">
          {({ links_allowed, changed_by, changed_at }) => (
            <>
              <Allowed allowed={links_allowed} refusal={refusal} />
              {changed_by !== null && changed_at !== null && (
                <p className={styles["dim"]}>
                  Changed by {changed_by} <Time at={changed_at} />
                </p>
              )}
            </>
          )}
        </Async>
      </Section>
      <Links />
    </>
  );
}

function Allowed({ allowed, refusal }: { allowed: boolean; refusal: string | null }): ReactElement {
  const { mutate, isPending } = useAllowLinks();
  const toast = useToast();
  const tell = useTellError();
  const change = (wanted: boolean, undo: boolean): void =>
    mutate(wanted, {
      onSuccess: () => toast({ text: wanted ? "Links allowed" : "Links forbidden", ...(undo ? { undo: () => change(!wanted, false) } : {}) }),
      onError: tell,
    });
  return (
    <p className={styles["inline"]}>
      <span>
        {allowed ? "Editors and admins can create links." : "Links are forbidden: none can be created, and existing links do not work. Once allowed again, they work until they expire."}
      </span>
      <ActionButton refusal={refusal} disabled={isPending} onClick={() => change(!allowed, true)}>
        {allowed ? "Forbid links" : "Allow links"}
      </ActionButton>
    </p>
  );
}

function Links(): ReactElement {
  const refusal = useRefusal("links:write");
  const { data, isError, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(linksQuery());
  const links = data?.pages.flatMap((page) => page.items);
  return (
    <Section title="Links" note="Created on incident pages, under Share.">
      {links === undefined ? (
        isError ? <ErrorState {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={4} label="Loading links" />
      ) : links.length === 0 ? (
        <p className={styles["dim"]}>No links yet.</p>
      ) : (
        <LinkTable links={links} withIncident refusal={refusal} />
      )}
      {hasNextPage && <Button onClick={() => void fetchNextPage()}>Show older</Button>}
    </Section>
  );
}
