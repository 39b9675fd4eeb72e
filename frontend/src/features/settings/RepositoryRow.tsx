import { useState, type ReactElement } from "react";

import { useRemoveRepository, useTestRepository, useUpdateRepository, type Repository, type RepositoryFile } from "@/api/pulls";
import { plural } from "@/lib/format";
import { ActionButton } from "@/ui/ActionButton";
import { Button } from "@/ui/Button";
import { Dialog, DialogActions } from "@/ui/Dialog";
import { useToast } from "@/ui/Toast";
import { useTellError } from "@/widgets/useTellError";

import { RepositoryForm } from "./RepositoryForm";
import { changeOf, FORMATS, formOf, HOSTS } from "./repositoryForm";
import styles from "./Settings.module.css";

export function RepositoryRow({ repository, refusal }: { repository: Repository; refusal: string | null }): ReactElement {
  const tell = useTellError();
  const toast = useToast();
  const test = useTestRepository(repository.id);
  const remove = useRemoveRepository(repository.id);
  const [editing, setEditing] = useState(false);
  const [asked, setAsked] = useState(false);
  const name = repository.repository;
  const tryIt = (): void =>
    test.mutate(undefined, {
      onSuccess: ({ ok, detail }) => toast(ok ? { text: detail } : { text: `${name}: ${detail}`, tone: "error" }),
      onError: tell,
    });
  return (
    <li className={styles["channel"]}>
      <div className={styles["channelHead"]}>
        <h3>
          {name}{" "}
          <span className={styles["dim"]}>
            {HOSTS[repository.kind]}, {repository.url}
          </span>
        </h3>
        <ActionButton refusal={refusal} disabled={test.isPending} onClick={tryIt} aria-label={`Test ${name}`}>
          {test.isPending ? "Testing…" : "Test"}
        </ActionButton>
        <ActionButton refusal={refusal} aria-expanded={editing} onClick={() => setEditing(!editing)} aria-label={`Edit ${name}`}>
          Edit
        </ActionButton>
        <ActionButton kind="quiet" refusal={refusal} onClick={() => setAsked(true)} aria-label={`Remove ${name}`}>
          Remove
        </ActionButton>
      </div>
      <ul className={styles["dim"]}>
        {repository.files.map((file) => (
          <li key={`${file.path} ${who(file)}`}>
            {file.path}: {FORMATS[file.format]}
            {file.values_key !== "" && ` below ${file.values_key}`}, {who(file)}
          </li>
        ))}
      </ul>
      <p className={styles["dim"]}>
        Into {repository.base_branch}. {plural(repository.open_pull_requests, "open pull request")}.
      </p>
      {editing && <Edit repository={repository} onDone={() => setEditing(false)} />}
      <Dialog
        open={asked}
        onOpenChange={setAsked}
        title={`Remove repository: ${name}`}
        description="Its token is deleted. Open pull requests stay open, and Jitterscope no longer follows them."
      >
        <DialogActions>
          <Button onClick={() => setAsked(false)}>Cancel</Button>
          <Button kind="primary" disabled={remove.isPending} onClick={() => remove.mutate(undefined, { onSuccess: () => setAsked(false), onError: tell })}>
            Remove repository
          </Button>
        </DialogActions>
      </Dialog>
    </li>
  );
}

function Edit({ repository, onDone }: { repository: Repository; onDone: () => void }): ReactElement {
  const [form, setForm] = useState(() => formOf(repository));
  const update = useUpdateRepository(repository.id);
  const toast = useToast();
  return (
    <RepositoryForm
      label={`Edit ${repository.repository}`}
      stored
      form={form}
      onChange={setForm}
      onCancel={onDone}
      busy={update.isPending}
      error={update.error}
      onSubmit={() =>
        update.mutate(changeOf(form), {
          onSuccess: () => {
            toast({ text: `${form.repository} changed` });
            onDone();
          },
        })
      }
    />
  );
}

function who({ namespaces, workloads }: RepositoryFile): string {
  const what = workloads.length === 0 ? "all workloads" : workloads.join(", ");
  return namespaces.length === 0 ? what : `${what} in ${namespaces.join(", ")}`;
}
