import { useId, type ReactElement, type SyntheticEvent } from "react";

import { explain } from "@/api/problem";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";

import { FORMATS, HOSTS, newFile, type FileForm, type RepositoryFormState } from "./repositoryForm";
import styles from "./Settings.module.css";

interface RepositoryFormProps {
  label: string;
  form: RepositoryFormState;
  onChange: (form: RepositoryFormState) => void;
  onSubmit: () => void;
  onCancel?: () => void;
  busy: boolean;
  error: Error | null;
  /** The kind cannot change, and the token can be kept. */
  stored?: boolean;
}

export function RepositoryForm({ label, form, onChange, onSubmit, onCancel, busy, error, stored = false }: RepositoryFormProps): ReactElement {
  const set = (part: Partial<RepositoryFormState>): void => onChange({ ...form, ...part });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    onSubmit();
  };
  const problem = error === null ? null : explain(error);
  const rights = form.kind === "github" ? "Fine-grained, with Contents and Pull requests: read and write." : "Project access token with the scope api and the role Developer.";
  return (
    <form className={styles["form"]} onSubmit={submit} aria-label={label}>
      {!stored && (
        <Field label="Host">
          {(attributes) => (
            <select {...attributes} value={form.kind} onChange={(event) => set({ kind: event.target.value === "gitlab" ? "gitlab" : "github" })}>
              {Object.entries(HOSTS).map(([kind, name]) => (
                <option key={kind} value={kind}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      <Field label="Address" hint={`Empty: ${form.kind}.com. Your own server: https://git.example.org`}>
        {(attributes) => <input {...attributes} type="url" autoComplete="off" required={stored} value={form.url} onChange={(event) => set({ url: event.target.value })} />}
      </Field>
      <Field label="Repository" hint={form.kind === "github" ? "owner/name" : "group/name, with all subgroups"}>
        {(attributes) => <input {...attributes} required autoComplete="off" spellCheck={false} value={form.repository} onChange={(event) => set({ repository: event.target.value })} />}
      </Field>
      <Field label="Base branch">
        {(attributes) => <input {...attributes} required autoComplete="off" spellCheck={false} value={form.baseBranch} onChange={(event) => set({ baseBranch: event.target.value })} />}
      </Field>
      <Field label="Token" hint={stored ? `Empty: the stored token is kept. ${rights}` : rights}>
        {(attributes) => <input {...attributes} type="password" required={!stored} autoComplete="off" value={form.token} onChange={(event) => set({ token: event.target.value })} />}
      </Field>
      {form.files.map((file, index) => (
        <FileFields
          key={file.key}
          number={index + 1}
          file={file}
          onChange={(changed) => set({ files: form.files.map((one) => (one.key === file.key ? changed : one)) })}
          onRemove={form.files.length > 1 ? () => set({ files: form.files.filter((one) => one.key !== file.key) }) : null}
        />
      ))}
      <p style={{ marginTop: 12 }}>
        <Button onClick={() => set({ files: [...form.files, newFile()] })}>Add file</Button>
      </p>
      {problem !== null && (
        <p role="alert" className={styles["hot"]} style={{ marginTop: 12 }}>
          {problem.title}. {problem.detail}
        </p>
      )}
      <p className={styles["inline"]} style={{ marginTop: 16 }}>
        <Button type="submit" kind="primary" disabled={busy}>
          {stored ? "Save repository" : "Add repository"}
        </Button>
        {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
      </p>
    </form>
  );
}

interface FileFieldsProps {
  number: number;
  file: FileForm;
  onChange: (file: FileForm) => void;
  onRemove: (() => void) | null;
}

function FileFields({ number, file, onChange, onRemove }: FileFieldsProps): ReactElement {
  const titleId = useId();
  const text = (label: string, name: "namespaces" | "workloads" | "path" | "valuesKey", hint: string, required = false): ReactElement => (
    <Field label={label} hint={hint}>
      {(attributes) => (
        <input {...attributes} required={required} autoComplete="off" spellCheck={false} value={file[name]} onChange={(event) => onChange({ ...file, [name]: event.target.value })} />
      )}
    </Field>
  );
  return (
    <div role="group" aria-labelledby={titleId} className={styles["file"]}>
      <div className={styles["channelHead"]}>
        <h3 id={titleId}>File {number}</h3>
        {onRemove !== null && (
          <Button kind="quiet" onClick={onRemove} aria-label={`Remove file ${number}`}>
            Remove
          </Button>
        )}
      </div>
      {text("Path", "path", "From the root of the repository: clusters/prod/coredns.yaml", true)}
      <Field label="Format">
        {(attributes) => (
          <select {...attributes} value={file.format} onChange={(event) => onChange({ ...file, format: event.target.value as FileForm["format"] })}>
            {Object.entries(FORMATS).map(([format, title]) => (
              <option key={format} value={format}>
                {title}
              </option>
            ))}
          </select>
        )}
      </Field>
      {file.format === "helm_values" && text("Key", "valuesKey", "Key that holds the workload's values, such as controller. Empty: the top level.")}
      {text("Namespaces", "namespaces", "Comma-separated patterns: kube-system, team-*. Empty: all.")}
      {text("Workloads", "workloads", "Such as coredns, deployment/cart-*. Empty: all.")}
    </div>
  );
}
