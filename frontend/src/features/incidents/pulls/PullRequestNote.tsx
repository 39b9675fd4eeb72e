import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { numberOf, type FixPullRequest } from "@/api/pulls";
import { Time } from "@/ui/Time";

interface PullRequestNoteProps {
  known: FixPullRequest | undefined;
  /** Why the user cannot open one; null: allowed. */
  refusal: string | null;
  maySetUp: boolean;
}

/** The fix's repository or pull request, or why there can be none. */
export function PullRequestNote({ known, refusal, maySetUp }: PullRequestNoteProps): ReactElement {
  if (known === undefined) return <>Looking for a repository.</>;
  const pull = known.pull_request;
  if (pull !== null) {
    return (
      <>
        <a href={pull.url} target="_blank" rel="noreferrer">
          {numberOf(pull)} in {pull.repository}
        </a>{" "}
        is {pull.state}. Opened by {pull.opened_by}, <Time at={pull.opened_at} />.{" "}
        {pull.comment_url !== null && (
          <>
            <a href={pull.comment_url} target="_blank" rel="noreferrer">
              Comment with the verdict
            </a>
            .{" "}
          </>
        )}
        {pull.reminded_at !== null && pull.comment_url === null && "No data shows that it landed. Once it is rolled out, press I applied this fix. "}
        {pull.last_error}
      </>
    );
  }
  if (known.needs_repository) {
    return (
      <>
        {known.reason}{" "}
        {maySetUp ? (
          <Link to="/settings/$section" params={{ section: "repositories" }}>
            Set up a repository
          </Link>
        ) : (
          "Ask an admin to set one up."
        )}
      </>
    );
  }
  if (!known.possible) return <>{known.reason}</>;
  return (
    <>
      Changes {known.path} in {known.repository}. {refusal}
    </>
  );
}
