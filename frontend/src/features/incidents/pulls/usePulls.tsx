import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { Incident } from "@/api/incidents";
import { pullRequestsQuery } from "@/api/pulls";
import type { FixPulls } from "@/widgets/FixList";
import { useRefusal } from "@/widgets/useRefusal";

import { PullRequestButton } from "./PullRequestButton";
import { PullRequestNote } from "./PullRequestNote";

/** For each fix that fits in a file: a button or its pull request, and a note in its details. */
export function usePulls({ id }: Incident): FixPulls {
  const { data: all } = useQuery(pullRequestsQuery(id));
  const refusal = useRefusal("incidents:write");
  const maySetUp = useRefusal("repositories:write") === null;
  return useMemo(() => {
    const known = new Map((all ?? []).map((one) => [one.fix_id, one]));
    return {
      button: (fix) => <PullRequestButton incidentId={id} fix={fix} known={known.get(fix.id)} refusal={refusal} maySetUp={maySetUp} />,
      note: (fix) => <PullRequestNote known={known.get(fix.id)} refusal={refusal} maySetUp={maySetUp} />,
    };
  }, [all, id, refusal, maySetUp]);
}
