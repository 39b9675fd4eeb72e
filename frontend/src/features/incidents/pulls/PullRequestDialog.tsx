import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { useState, type ReactElement } from "react";

import type { Schemas } from "@/api/client";
import { ApiError, explain } from "@/api/problem";
import { numberOf, pullRequestPreviewQuery, useOpenPullRequest, type PullRequestForm } from "@/api/pulls";
import { Button } from "@/ui/Button";
import { CodeBlock } from "@/ui/CodeBlock";
import { Dialog, DialogActions } from "@/ui/Dialog";
import { ErrorState, Skeleton } from "@/ui/states";
import { useToast } from "@/ui/Toast";
import { useTellError } from "@/widgets/useTellError";

import styles from "./Pulls.module.css";

interface PullRequestDialogProps {
  incidentId: number;
  fix: Schemas["Fix"];
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** Preview of a pull request's changes and text. */
export function PullRequestDialog({ incidentId, fix, open, onOpenChange }: PullRequestDialogProps): ReactElement {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} wide title={`Open pull request: ${fix.title}`}>
      {open && <Preview incidentId={incidentId} fixId={fix.id} onDone={() => onOpenChange(false)} />}
    </Dialog>
  );
}

function Preview({ incidentId, fixId, onDone }: { incidentId: number; fixId: string; onDone: () => void }): ReactElement {
  const [form, setForm] = useState<PullRequestForm>("edit");
  const { data, error, isFetching, refetch } = useQuery(pullRequestPreviewQuery(incidentId, fixId, form));
  const open = useOpenPullRequest(incidentId, fixId);
  const toast = useToast();
  const tell = useTellError();
  const submit = (): void =>
    open.mutate(form, {
      onSuccess: (pull) => {
        toast({ text: `Pull request ${numberOf(pull)} opened in ${pull.repository}` });
        onDone();
      },
      onError: tell,
    });
  const cannotEdit = form === "edit" && error instanceof ApiError && error.type.endsWith("cannot-change-file");
  return (
    <>
      {data !== undefined ? (
        <Shown preview={data} />
      ) : error !== null && !isFetching ? (
        <div className={clsx(styles["preview"], styles["refused"])}>
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        </div>
      ) : (
        <Skeleton lines={5} height={28} label="Loading preview" />
      )}
      <DialogActions>
        <Button onClick={onDone}>Cancel</Button>
        {cannotEdit && <Button onClick={() => setForm("kustomize_patch")}>Use a new Kustomize patch file</Button>}
        <Button kind="primary" disabled={data === undefined || open.isPending} onClick={submit}>
          {open.isPending ? "Opening…" : "Open pull request"}
        </Button>
      </DialogActions>
    </>
  );
}

function Shown({ preview }: { preview: Schemas["PullRequestPreview"] }): ReactElement {
  return (
    <div className={styles["preview"]}>
      <dl className={styles["facts"]}>
        <div>
          <dt>Title</dt>
          <dd>{preview.title}</dd>
        </div>
        <div>
          <dt>Repository</dt>
          <dd>
            {preview.repository}, branch {preview.branch} into {preview.base_branch}
          </dd>
        </div>
      </dl>
      {preview.notes.map((note) => (
        <p key={note} className={styles["note"]}>
          {note}
        </p>
      ))}
      {preview.files.map((file) => (
        <CodeBlock key={file.path} label={file.is_new ? `${file.path} (new)` : file.path} language="diff" text={file.diff} />
      ))}
      <details>
        <summary>Text of the pull request</summary>
        <CodeBlock label="Markdown" language="shell" text={preview.body} />
      </details>
    </div>
  );
}
