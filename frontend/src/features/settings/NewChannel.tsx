import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement, type SyntheticEvent } from "react";

import { api, unwrap } from "@/api/client";
import { explain } from "@/api/problem";
import { settingsKeys, type Channel, type ChannelKind } from "@/api/settings";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { Section } from "@/ui/Section";

import { configFields, configOf } from "./configSchema";
import styles from "./Settings.module.css";

const SEVERITIES: readonly Channel["min_severity"][] = ["info", "warning", "critical"];

export function NewChannel({ kinds }: { kinds: readonly ChannelKind[] }): ReactElement {
  const client = useQueryClient();
  const [kindName, setKindName] = useState(kinds[0]?.kind ?? "");
  const [name, setName] = useState("");
  const [severity, setSeverity] = useState<Channel["min_severity"]>("warning");
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const kind = kinds.find((one) => one.kind === kindName);
  const create = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/channels", { body: { kind: kindName, name, config: configOf(values), min_severity: severity, enabled: true } })),
    onSuccess: () => {
      setName("");
      setValues({});
    },
    onSettled: () => client.invalidateQueries({ queryKey: settingsKeys.channels }),
  });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  const problem = create.error === null ? null : explain(create.error);
  return (
    <Section title="Add channel" note="Secrets are encrypted and never shown again.">
      <form className={styles["form"]} onSubmit={submit}>
        <Field label="Kind">
          {(attributes) => (
            <select {...attributes} value={kindName} onChange={(event) => setKindName(event.target.value)}>
              {kinds.map((one) => (
                <option key={one.kind} value={one.kind}>
                  {one.title}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Name">{(attributes) => <input {...attributes} required value={name} onChange={(event) => setName(event.target.value)} />}</Field>
        {kind !== undefined &&
          configFields(kind.config_schema).map((field) => (
            <Field key={field.name} label={field.label} hint={field.hint ?? undefined}>
              {(attributes) => (
                <input
                  {...attributes}
                  type={field.secret ? "password" : "text"}
                  autoComplete="off"
                  required={field.required}
                  value={values[field.name] ?? field.initial}
                  onChange={(event) => setValues({ ...values, [field.name]: event.target.value })}
                />
              )}
            </Field>
          ))}
        <Field label="Minimum severity">
          {(attributes) => (
            <select {...attributes} value={severity} onChange={(event) => setSeverity(event.target.value as Channel["min_severity"])}>
              {SEVERITIES.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
        {problem !== null && (
          <p role="alert" className={styles["hot"]} style={{ marginTop: 12 }}>
            {problem.title}. {problem.detail}
          </p>
        )}
        <p style={{ marginTop: 16 }}>
          <Button type="submit" kind="primary" disabled={create.isPending}>
            Add channel
          </Button>
        </p>
      </form>
    </Section>
  );
}
