import type { ReactElement } from "react";

import { isValid, type TokenInfo } from "@/api/settings";
import { Table, tableStyles } from "@/ui/Table";
import { Time } from "@/ui/Time";

import { RevokeToken } from "./RevokeToken";

export interface TokenTableProps {
  tokens: readonly TokenInfo[];
  /** Why the user cannot revoke tokens; null: allowed. */
  refusal: string | null;
  onRevoke: (id: number) => void;
}

export function TokenTable({ tokens, refusal, onRevoke }: TokenTableProps): ReactElement {
  if (tokens.length === 0) return <p className={tableStyles["dim"]}>No tokens yet.</p>;
  return (
    <Table label="Tokens">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Ends in</th>
          <th scope="col">Scopes</th>
          <th scope="col">Owner</th>
          <th scope="col">Created</th>
          <th scope="col">Expires</th>
          <th scope="col">Last used</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <tr key={token.id}>
            <th scope="row">{token.name}</th>
            <td>
              <code>…{token.hint}</code>
            </td>
            <td className={tableStyles["wrap"]}>{token.kind === "ingest" ? "send data" : token.scopes.join(", ")}</td>
            <td>{token.owner ?? <span className={tableStyles["dim"]}>left</span>}</td>
            <td className={tableStyles["nowrap"]}>
              <Time at={token.created_at} /> by {token.created_by}
            </td>
            <td className={tableStyles["nowrap"]}>{token.expires_at === null ? "never" : <Time at={token.expires_at} style="clock" />}</td>
            <td className={tableStyles["nowrap"]}>{token.last_used_at === null ? "never" : <Time at={token.last_used_at} />}</td>
            <td>
              {token.revoked_at !== null ? (
                <span className={tableStyles["dim"]}>revoked</span>
              ) : !isValid(token) ? (
                <span className={tableStyles["dim"]}>expired</span>
              ) : (
                <RevokeToken token={token} refusal={refusal} onRevoke={onRevoke} />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
