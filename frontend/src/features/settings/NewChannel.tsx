import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement, type SyntheticEvent } from "react";

import { api, unwrap } from "@/api/client";
import { explain } from "@/api/problem";
import { settingsKeys, type ChannelKind } from "@/api/settings";
import { ActionButton } from "@/ui/ActionButton";
import { Field } from "@/ui/Field";
import { Section } from "@/ui/Section";

import { filterOf, NEW_FILTER, type FilterForm } from "./channelFilter";
import { configFields, configOf, type ConfigField } from "./configSchema";
import { FilterFields, MoreConditions } from "./FilterFields";
import { FilterPreview } from "./FilterPreview";
import styles from "./Settings.module.css";

interface NewChannelProps {
  kinds: readonly ChannelKind[];
  /** Why the user cannot add a channel; null if allowed. */
  refusal: string | null;
}

export function NewChannel({ kinds, refusal }: NewChannelProps): ReactElement {
  const client = useQueryClient();
  const [kindName, setKindName] = useState("");
  const [name, setName] = useState("");
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [filter, setFilter] = useState<FilterForm>(NEW_FILTER);
  const kind = kinds.find((one) => one.kind === kindName);
  const create = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/channels", { body: { kind: kindName, name, config: configOf(values), enabled: true, ...filterOf(filter) } })),
    onSuccess: () => {
      setName("");
      setValues({});
      setFilter(NEW_FILTER);
    },
    onSettled: () => client.invalidateQueries({ queryKey: settingsKeys.channels }),
  });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  const problem = create.error === null ? null : explain(create.error);
  const fields = kind === undefined ? [] : configFields(kind.config_schema);
  const unavailable = kinds.filter((one) => one.unavailable !== null);
  const inputs = (advanced: boolean): ReactElement[] =>
    fields
      .filter((field) => field.advanced === advanced)
      .map((field) => <ConfigInput key={field.name} field={field} value={values[field.name] ?? field.initial} onChange={(value) => setValues({ ...values, [field.name]: value })} />);
  return (
    <Section title="Add channel" note="Secrets are encrypted and never shown again.">
      <form className={styles["form"]} onSubmit={submit}>
        <Field label="Kind" hint={unavailable.length === 0 ? undefined : unavailable.map((one) => `${one.title}: ${one.unavailable ?? ""}`).join(" ")}>
          {(attributes) => (
            <select
              {...attributes}
              required
              value={kindName}
              onChange={(event) => {
                setKindName(event.target.value);
                setValues({});
              }}
            >
              <option value="" disabled>
                Choose a kind
              </option>
              {kinds.map((one) => (
                <option key={one.kind} value={one.kind} disabled={one.unavailable !== null}>
                  {one.title}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Name">{(attributes) => <input {...attributes} required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />}</Field>
        {inputs(false)}
        <FilterFields value={filter} onChange={setFilter} />
        <details className={styles["more"]}>
          <summary>More conditions</summary>
          {inputs(true)}
          <MoreConditions value={filter} onChange={setFilter} kind={kind} />
        </details>
        <FilterPreview form={filter} kind={kind?.kind ?? null} />
        {problem !== null && (
          <p role="alert" className={styles["hot"]} style={{ marginTop: 12 }}>
            {problem.title}. {problem.detail}
          </p>
        )}
        <p style={{ marginTop: 16 }}>
          <ActionButton type="submit" kind="primary" refusal={refusal} disabled={create.isPending}>
            Add channel
          </ActionButton>
          {refusal !== null && <span className={styles["reason"]}>{refusal}</span>}
        </p>
      </form>
    </Section>
  );
}

interface ConfigInputProps {
  field: ConfigField;
  value: string;
  onChange: (value: string) => void;
}

function ConfigInput({ field, value, onChange }: ConfigInputProps): ReactElement {
  return (
    <Field label={field.label} hint={field.hint ?? undefined}>
      {(attributes) =>
        field.multiline ? (
          <textarea {...attributes} rows={3} autoComplete="off" spellCheck={false} required={field.required} value={value} onChange={(event) => onChange(event.target.value)} />
        ) : (
          <input
            {...attributes}
            type={field.secret ? "password" : "text"}
            autoComplete="off"
            required={field.required}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        )
      }
    </Field>
  );
}
