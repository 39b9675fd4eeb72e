import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement, type ReactNode, type SyntheticEvent } from "react";

import { api, unwrap } from "@/api/client";
import { explain } from "@/api/problem";
import { collectorsQuery, ingestTokensQuery } from "@/api/resources";
import { setupsQuery, textWith, type Setup, type Setups } from "@/api/setups";
import { parseUs } from "@/lib/time";
import { ActionButton } from "@/ui/ActionButton";
import { Choice } from "@/ui/Choice";
import { Field } from "@/ui/Field";
import { Async } from "@/widgets/Async";
import { Prose } from "@/widgets/Prose";
import { SecretOnce } from "@/widgets/SecretOnce";
import { useRefusal } from "@/widgets/useRefusal";

import styles from "./Collectors.module.css";

/** Three steps: a token, a command or a configuration for where the sender runs, and confirmation that data arrives. */
export function AddCollector(): ReactElement {
  const setups = useQuery(setupsQuery());
  return (
    <section className={styles["add"]} aria-label="Add collector">
      <Async query={setups} label="Loading setups">
        {(loaded) => <Steps setups={loaded} />}
      </Async>
    </section>
  );
}

function Steps({ setups: { items, only_here: onlyHere } }: { setups: Setups }): ReactElement | null {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [what, setWhat] = useState<string>();
  const refusal = useRefusal("collectors:write");
  const setup = items.find((one) => one.name === what) ?? items[0];
  const create = useMutation({
    mutationFn: (named: string) => unwrap(api.POST("/api/v1/collectors/tokens", { body: { name: named } })),
    onSettled: () => client.invalidateQueries({ queryKey: ingestTokensQuery().queryKey }),
  });
  if (setup === undefined) return null;
  const usual = setup.sends === "ticks" ? "collector" : setup.name;
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    create.mutate(name.trim() === "" ? usual : name.trim());
  };
  const problem = create.error === null ? null : explain(create.error);
  return (
    <>
      <Choice label="Sender" options={items.map((one) => [one.name, one.title])} value={setup.name} onChange={setWhat} className={styles["what"]} />
      <p className={styles["hint"]}>{hintOf(setup)}</p>
      {onlyHere !== null && (
        <p className={styles["hint"]} role="note">
          <Prose text={onlyHere} />
        </p>
      )}
      {create.data === undefined ? (
        <form onSubmit={submit} className={styles["form"]}>
          <Field label="Token name" hint="Where the sender will run: “node-7”, “staging cluster”. One token can serve many nodes.">
            {(attributes) => <input {...attributes} placeholder={usual} value={name} onChange={(event) => setName(event.target.value)} />}
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
      ) : (
        <>
          <SecretOnce label={setup.file} text={textWith(setup, create.data.secret)}>
            Its token can only send data. <Prose text={setup.next} />
          </SecretOnce>
          {setup.sends === "ticks" ? <FirstData sinceUs={parseUs(create.data.token.created_at)} tokenId={create.data.token.id} /> : <FirstSamples tokenId={create.data.token.id} />}
        </>
      )}
    </>
  );
}

const hintOf = ({ sends, title }: Setup): string =>
  sends === "ticks" ? "Records 100 ms ticks on a node. Causes are found from what it sends." : `${title} sends what it scrapes, by remote write. It is shown next to collector data and is not searched for causes.`;

/** Live: the event stream refreshes both lists when the first batch arrives. */
function FirstData({ sinceUs, tokenId }: { sinceUs: number; tokenId: number }): ReactElement {
  const { data: collectors } = useInfiniteQuery({ ...collectorsQuery(), refetchInterval: 2000 });
  const isUsed = useIsUsed(tokenId);
  const fresh = collectors?.pages[0]?.items.find((collector) => parseUs(collector.first_seen_at) >= sinceUs);
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
