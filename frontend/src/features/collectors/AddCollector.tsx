import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement, type SyntheticEvent } from "react";

import { api, unwrap } from "@/api/client";
import { explain } from "@/api/problem";
import { collectorsQuery, ingestTokensQuery } from "@/api/resources";
import { parseUs } from "@/lib/time";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { SecretOnce } from "@/widgets/SecretOnce";

import styles from "./Collectors.module.css";

/** Three steps: a token, one line on the node, and the proof that data arrive. */
export function AddCollector(): ReactElement {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const create = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/collectors/tokens", { body: { name: name.trim() === "" ? "collector" : name.trim() } })),
    onSettled: () => client.invalidateQueries({ queryKey: ingestTokensQuery().queryKey }),
  });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  const problem = create.error === null ? null : explain(create.error);
  return (
    <section className={styles["add"]} aria-label="Add collector">
      {create.data === undefined ? (
        <form onSubmit={submit} className={styles["form"]}>
          <Field label="Token name" hint="Where the collector will run: “node-7”, “staging cluster”. One token can serve many nodes.">
            {(attributes) => <input {...attributes} placeholder="collector" value={name} onChange={(event) => setName(event.target.value)} />}
          </Field>
          {problem !== null && (
            <p role="alert">
              {problem.title}. {problem.detail}
            </p>
          )}
          <p style={{ marginTop: 12 }}>
            <Button type="submit" kind="primary" disabled={create.isPending}>
              Create token
            </Button>
          </p>
        </form>
      ) : (
        <>
          <SecretOnce label="Run this on the node, as root" text={create.data.install_command}>
            Its token can only send data.
          </SecretOnce>
          <FirstData sinceUs={parseUs(create.data.token.created_at)} tokenId={create.data.token.id} />
        </>
      )}
    </section>
  );
}

/** Live: the stream of changes refreshes both lists when the first batch arrives. */
function FirstData({ sinceUs, tokenId }: { sinceUs: number; tokenId: number }): ReactElement {
  const { data: collectors } = useQuery({ ...collectorsQuery(), refetchInterval: 2000 });
  const { data: tokens } = useQuery({ ...ingestTokensQuery(), refetchInterval: 2000 });
  const used = tokens?.items.find((token) => token.id === tokenId)?.last_used_at ?? null;
  const fresh = collectors?.find((collector) => parseUs(collector.first_seen_at) >= sinceUs);
  if (fresh !== undefined) {
    return (
      <p className={styles["arrived"]} role="status">
        <span aria-hidden="true">✓</span> First data received from{" "}
        <Link to="/resources/$resourceId" params={{ resourceId: fresh.node.id }}>
          {fresh.node.name}
        </Link>
        . <Link to="/resources">Show its containers</Link>
      </p>
    );
  }
  if (used !== null) {
    return (
      <p className={styles["arrived"]} role="status">
        <span aria-hidden="true">✓</span> The token is in use. Data arrives from a known node.
      </p>
    );
  }
  return (
    <p className={styles["waiting"]} role="status">
      <span className={styles["pulse"]} aria-hidden="true" /> Waiting for the first data, usually within 5 s of the start.
    </p>
  );
}
