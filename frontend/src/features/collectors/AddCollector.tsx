import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement, type ReactNode, type SyntheticEvent } from "react";

import { api, unwrap } from "@/api/client";
import { senderSetupsQuery } from "@/api/metrics";
import { explain } from "@/api/problem";
import { collectorsQuery, ingestTokensQuery } from "@/api/resources";
import { parseUs } from "@/lib/time";
import { ActionButton } from "@/ui/ActionButton";
import { Choice } from "@/ui/Choice";
import { Field } from "@/ui/Field";
import { SecretOnce } from "@/widgets/SecretOnce";
import { useRefusal } from "@/widgets/useRefusal";

import styles from "./Collectors.module.css";

const COLLECTOR = "collector";
/** Placeholder for the secret in a sender's configuration. */
const PLACEHOLDER = "TOKEN";

/** Three steps: a token, one line on the node or a sender's configuration, and confirmation that data arrives. */
export function AddCollector(): ReactElement {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [what, setWhat] = useState(COLLECTOR);
  const refusal = useRefusal("collectors:write");
  const { data: setups } = useQuery(senderSetupsQuery());
  const create = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/collectors/tokens", { body: { name: name.trim() === "" ? what : name.trim() } })),
    onSettled: () => client.invalidateQueries({ queryKey: ingestTokensQuery().queryKey }),
  });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  const problem = create.error === null ? null : explain(create.error);
  const setup = setups?.find((one) => one.name === what);
  return (
    <section className={styles["add"]} aria-label="Add collector">
      <Choice label="Sender" options={[[COLLECTOR, "Collector"], ...(setups ?? []).map((one) => [one.name, one.title] as const)]} value={what} onChange={setWhat} className={styles["what"]} />
      <p className={styles["hint"]}>{setup === undefined ? "Records 100 ms ticks on a node. Causes are found from what it sends." : `${setup.title} sends what it scrapes, by remote write. It is shown next to collector data and is not searched for causes.`}</p>
      {create.data === undefined ? (
        <form onSubmit={submit} className={styles["form"]}>
          <Field label="Token name" hint="Where the sender will run: “node-7”, “staging cluster”. One token can serve many nodes.">
            {(attributes) => <input {...attributes} placeholder={what} value={name} onChange={(event) => setName(event.target.value)} />}
          </Field>
          {problem !== null && (
            <p role="alert">
              {problem.title}. {problem.detail}
            </p>
          )}
          <p style={{ marginTop: 12 }}>
            <ActionButton type="submit" kind="primary" refusal={refusal} disabled={create.isPending}>
              Create token
            </ActionButton>
          </p>
        </form>
      ) : setup === undefined ? (
        <>
          <SecretOnce label="Run this on the node, as root" text={create.data.install_command}>
            Its token can only send data.
          </SecretOnce>
          <FirstData sinceUs={parseUs(create.data.token.created_at)} tokenId={create.data.token.id} />
        </>
      ) : (
        <>
          <SecretOnce label={setup.file} text={setup.text.replaceAll(PLACEHOLDER, create.data.secret)}>
            Its token can only send data. {setup.next}
          </SecretOnce>
          <FirstSamples tokenId={create.data.token.id} />
        </>
      )}
    </section>
  );
}

/** Live: the event stream refreshes both lists when the first batch arrives. */
function FirstData({ sinceUs, tokenId }: { sinceUs: number; tokenId: number }): ReactElement {
  const { data: collectors } = useQuery({ ...collectorsQuery(), refetchInterval: 2000 });
  const isUsed = useIsUsed(tokenId);
  const fresh = collectors?.find((collector) => parseUs(collector.first_seen_at) >= sinceUs);
  if (fresh !== undefined) {
    return (
      <Arrived>
        First data received from{" "}
        <Link to="/resources/$resourceId" params={{ resourceId: fresh.node.id }}>
          {fresh.node.name}
        </Link>
        . <Link to="/resources">Show its containers</Link>
      </Arrived>
    );
  }
  if (isUsed) return <Arrived>The token is in use. Data arrives from a known node.</Arrived>;
  return <Waiting>Waiting for the first data, usually within 5 s of the start.</Waiting>;
}

function FirstSamples({ tokenId }: { tokenId: number }): ReactElement {
  if (useIsUsed(tokenId)) {
    return (
      <Arrived>
        The token is in use. <Link to="/explore/metrics">Show metrics</Link>
      </Arrived>
    );
  }
  return <Waiting>Waiting for the first samples, usually within one scrape interval.</Waiting>;
}

function useIsUsed(tokenId: number): boolean {
  const { data: tokens } = useQuery({ ...ingestTokensQuery(), refetchInterval: 2000 });
  return (tokens?.items.find((token) => token.id === tokenId)?.last_used_at ?? null) !== null;
}

function Arrived({ children }: { children: ReactNode }): ReactElement {
  return (
    <p className={styles["arrived"]} role="status">
      <span aria-hidden="true">✓</span> {children}
    </p>
  );
}

function Waiting({ children }: { children: string }): ReactElement {
  return (
    <p className={styles["waiting"]} role="status">
      <span className={styles["pulse"]} aria-hidden="true" /> {children}
    </p>
  );
}
