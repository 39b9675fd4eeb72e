import { Link } from "@tanstack/react-router";
import { Suspense, lazy, useId, useState, type ReactElement } from "react";

import type { Schemas } from "@/api/client";
import { numberOf, type FixPullRequest } from "@/api/pulls";
import { Button } from "@/ui/Button";

import styles from "./Pulls.module.css";

const PullRequestDialog = lazy(async () => ({ default: (await import("./PullRequestDialog")).PullRequestDialog }));

interface PullRequestButtonProps {
  incidentId: number;
  fix: Schemas["Fix"];
  /** Undefined: not loaded yet. */
  known: FixPullRequest | undefined;
  mayOpen: boolean;
  maySetUp: boolean;
}

/** Opens the preview, links to an existing pull request, or links to the settings if no repository has the workload. */
export function PullRequestButton({ incidentId, fix, known, mayOpen, maySetUp }: PullRequestButtonProps): ReactElement {
  const [open, setOpen] = useState(false);
  const reasonId = useId();
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
  const reason = known === undefined ? "Looking for a repository." : mayOpen ? (known.reason ?? undefined) : VIEWER;
  return (
    <>
      <Button
        kind="quiet"
        aria-label={`Open pull request: ${fix.title}`}
        aria-describedby={reason === undefined ? undefined : reasonId}
        title={reason}
        disabled={reason !== undefined || known?.possible !== true}
        onClick={() => setOpen(true)}
      >
        Open pull request
      </Button>
      {reason !== undefined && (
        <span id={reasonId} className="visually-hidden">
          {reason}
        </span>
      )}
      {open && (
        <Suspense fallback={null}>
          <PullRequestDialog incidentId={incidentId} fix={fix} open onOpenChange={setOpen} />
        </Suspense>
      )}
    </>
  );
}

export const VIEWER = "Your role can read, but not open pull requests. Ask an editor or admin.";
