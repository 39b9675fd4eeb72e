import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement, type SyntheticEvent } from "react";

import { api, unwrap } from "@/api/client";
import { meQuery } from "@/api/me";
import { settingsKeys, tokensQuery } from "@/api/settings";
import { ActionButton } from "@/ui/ActionButton";
import { Field } from "@/ui/Field";
import { Section } from "@/ui/Section";
import { Async } from "@/widgets/Async";
import { SecretOnce } from "@/widgets/SecretOnce";
import { TokenTable } from "@/widgets/TokenTable";
import { useRefusal } from "@/widgets/useRefusal";
import { useTellError } from "@/widgets/useTellError";

import styles from "./Settings.module.css";

export function Tokens(): ReactElement {
  const client = useQueryClient();
  const tell = useTellError();
  const tokens = useQuery(tokensQuery());
  const refusal = useRefusal("tokens:write");
  const refresh = (): Promise<void> => client.invalidateQueries({ queryKey: settingsKeys.tokens });
  const revoke = useMutation({
    mutationFn: (id: number) => unwrap(api.DELETE("/api/v1/tokens/{token_id}", { params: { path: { token_id: id } } })),
    onError: tell,
    onSettled: refresh,
  });
  return (
    <>
      <Section title="API tokens" note="For programs, in the header “Authorization: Bearer”. Collectors use ingest tokens, listed under Collectors.">
        <Async query={tokens} label="Loading tokens">
          {({ items }) => <TokenTable tokens={items} refusal={refusal} onRevoke={(id) => revoke.mutate(id)} />}
        </Async>
      </Section>
      <NewToken refusal={refusal} onCreated={refresh} />
    </>
  );
}

function NewToken({ refusal, onCreated }: { refusal: string | null; onCreated: () => Promise<void> }): ReactElement {
  const tell = useTellError();
  const { data: me } = useQuery(meQuery());
  const [name, setName] = useState("");
  const [days, setDays] = useState<number | null>(90);
  const [scopes, setScopes] = useState<readonly string[]>(["incidents:read"]);
  const create = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/tokens", { body: { name, scopes: [...scopes], expires_at: inDays(days) } })),
    onSuccess: () => setName(""),
    onError: tell,
    onSettled: onCreated,
  });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <Section title="New API token" note="A token acts for you: it can never do more than you can, and it stops working when you leave the organization.">
      <form className={styles["form"]} onSubmit={submit}>
        <Field label="Name" hint="What uses it: “grafana”, “deploy pipeline”.">
          {(attributes) => <input {...attributes} required value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <Field label="Expires">
          {(attributes) => (
            <select {...attributes} value={days ?? ""} onChange={(event) => setDays(event.target.value === "" ? null : Number(event.target.value))}>
              <option value={30}>in 30 days</option>
              <option value={90}>in 90 days</option>
              <option value={365}>in a year</option>
              <option value="">never</option>
            </select>
          )}
        </Field>
        <fieldset className={styles["checks"]}>
          <legend>Scopes</legend>
          {me?.scopes.map((scope) => (
            <label key={scope}>
              <input
                type="checkbox"
                checked={scopes.includes(scope)}
                onChange={(event) => setScopes(event.target.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))}
              />
              {scope}
            </label>
          ))}
        </fieldset>
        <p style={{ marginTop: 14 }}>
          <ActionButton type="submit" kind="primary" refusal={refusal} disabled={create.isPending || scopes.length === 0}>
            Create token
          </ActionButton>
        </p>
      </form>
      {create.data !== undefined && <SecretOnce label={`Token ${create.data.token.name}`} text={create.data.secret} />}
    </Section>
  );
}

function inDays(days: number | null): string | null {
  return days === null ? null : new Date(Date.now() + days * 86_400_000).toISOString();
}
