import { Link } from "@tanstack/react-router";
import { Suspense, lazy, useState, type ReactElement } from "react";

import type { Schemas } from "@/api/client";
import { numberOf, type FixPullRequest } from "@/api/pulls";
import { ActionButton } from "@/ui/ActionButton";

import styles from "./Pulls.module.css";

const PullRequestDialog = lazy(async () => ({ default: (await import("./PullRequestDialog")).PullRequestDialog }));

interface PullRequestButtonProps {
  incidentId: number;
  fix: Schemas["Fix"];
  /** Undefined: not loaded yet. */
  known: FixPullRequest | undefined;
  /** Why the user cannot open one; null: allowed. */
  refusal: string | null;
  maySetUp: boolean;
}

/** Opens the preview, links to an existing pull request, or links to the settings if no repository has the workload. */
export function PullRequestButton({ incidentId, fix, known, refusal, maySetUp }: PullRequestButtonProps): ReactElement {
  const [open, setOpen] = useState(false);
  const pull = known?.pull_request ?? null;
  if (pull !== null && pull.state !== "closed") {
    return (
      <a className={styles["link"]} href={pull.url} target="_blank" rel="noreferrer" aria-label={`${numberOf(pull)} ${pull.state}, pull request: ${fix.title}`}>
        {`${numberOf(pull)} ${pull.state} `}
        <span aria-hidden="true">↗</span>
      </a>
    );
  }
  if (known?.needs_repository === true && maySetUp) {
    return (
      <Link className={styles["link"]} to="/settings/$section" params={{ section: "repositories" }} aria-label={`Set up repository: ${fix.title}`}>
        Set up repository
      </Link>
    );
  }
  return (
    <>
      <ActionButton
        kind="quiet"
        aria-label={`Open pull request: ${fix.title}`}
        refusal={refusal ?? (known === undefined ? "Looking for a repository." : known.reason)}
        disabled={known?.possible !== true}
        onClick={() => setOpen(true)}
      >
        Open pull request
      </ActionButton>
      {open && (
        <Suspense fallback={null}>
          <PullRequestDialog incidentId={incidentId} fix={fix} open onOpenChange={setOpen} />
        </Suspense>
      )}
    </>
  );
}
