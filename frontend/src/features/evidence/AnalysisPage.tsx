import { useIsMutating, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";

import { analysisKeys, analysisQuery, deleteAnalysis, unfinished, type Analysis } from "@/api/analyses";
import { explain } from "@/api/problem";
import { bytes } from "@/lib/format";
import { ActionButton } from "@/ui/ActionButton";
import { Button } from "@/ui/Button";
import { Dialog, DialogActions } from "@/ui/Dialog";
import { Page } from "@/ui/Page";
import { ErrorState, Skeleton } from "@/ui/states";
import { Time } from "@/ui/Time";
import { useRefusal } from "@/widgets/useRefusal";
import { useTellError } from "@/widgets/useTellError";

import styles from "./Evidence.module.css";
import { ProgressBar } from "./ProgressBar";
import { ReportView } from "./ReportView";

const route = getRouteApi("/signed-in/evidence/$analysisId");

/** One file and its result. */
export function AnalysisPage(): ReactElement {
  const { analysisId } = route.useParams();
  // The removal event would otherwise refetch it.
  const removing = useIsMutating({ mutationKey: analysisKeys.removal(analysisId) }) > 0;
  const { data, isError, error, refetch } = useQuery({ ...analysisQuery(analysisId), enabled: !removing });
  if (data === undefined) {
    return (
      <Page title="Evidence file">
        {isError ? <ErrorState {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={6} height={40} label="Loading analysis" />}
      </Page>
    );
  }
  return (
    <Page title={data.name} lead={<About analysis={data} />} actions={<Delete analysis={data} />}>
      {unfinished(data) && (
        <div role="status" className={styles["reading"]}>
          <p>{data.state === "queued" ? "Waiting for a worker." : "Reading the file."} The result appears here when it is ready.</p>
          <ProgressBar ratio={data.progress_ratio} label={`Reading ${data.name}`} />
        </div>
      )}
      {data.problem !== null && <ErrorState title={data.problem.title} detail={[data.problem.detail, data.problem.what_to_do].filter(Boolean).join(" ")} />}
      {data.report !== null && <ReportView report={data.report} figures={data.figures} />}
    </Page>
  );
}

function About({ analysis }: { analysis: Analysis }): ReactElement {
  return (
    <>
      <Link to="/evidence">Evidence files</Link>
      {analysis.kind_title !== null && ` · ${analysis.kind_title}`}
      {analysis.size_bytes > 0 && ` · ${bytes(analysis.size_bytes)}`} · {analysis.created_by}, <Time at={analysis.created_at} />
      {analysis.file_kept && analysis.file_expires_at !== null && (
        <>
          {" "}
          · the file is kept until <Time at={analysis.file_expires_at} style="clock" />
        </>
      )}
    </>
  );
}

function Delete({ analysis }: { analysis: Analysis }): ReactElement {
  const [asking, setAsking] = useState(false);
  const refusal = useRefusal("analyses:write");
  const navigate = useNavigate();
  const client = useQueryClient();
  const tellError = useTellError();
  const remove = useMutation({
    mutationKey: analysisKeys.removal(analysis.id),
    mutationFn: () => deleteAnalysis(analysis.id),
    onSuccess: async () => {
      await navigate({ to: "/evidence" });
      client.removeQueries({ queryKey: analysisKeys.one(analysis.id) });
      await client.invalidateQueries({ queryKey: analysisKeys.list });
    },
    onError: tellError,
  });
  return (
    <>
      <ActionButton refusal={refusal} onClick={() => setAsking(true)}>
        Delete
      </ActionButton>
      <Dialog open={asking} onOpenChange={setAsking} title={`Delete ${analysis.name}?`} description="The file and its result are deleted. Nothing else refers to them.">
        <DialogActions>
          <Button onClick={() => setAsking(false)}>Cancel</Button>
          <Button kind="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
            Delete
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}
