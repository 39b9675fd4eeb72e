import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";

import { api, unwrap } from "@/api/client";
import { ROLES, type Member, type Role } from "@/api/settings";
import { plural } from "@/lib/format";
import { Button } from "@/ui/Button";
import { Dialog, DialogActions } from "@/ui/Dialog";
import { Time } from "@/ui/Time";
import { useTellError } from "@/widgets/useTellError";

import styles from "./Settings.module.css";

type IngestTokens = "take_over" | "revoke";
/** A new role, or null to remove the member. */
type Change = Role | null;

interface MemberRowProps {
  member: Member;
  /** Names of the member's valid ingest tokens. */
  ingestTokens: readonly string[];
  mayChange: boolean;
  self: boolean;
}

export function MemberRow({ member, ingestTokens, mayChange, self }: MemberRowProps): ReactElement {
  const client = useQueryClient();
  const tell = useTellError();
  const [asked, setAsked] = useState<{ to: Change } | null>(null);
  const path = { user_id: member.user_id };
  const change = useMutation({
    mutationFn: ({ to, tokens }: { to: Change; tokens?: IngestTokens }): Promise<unknown> =>
      to === null
        ? unwrap(api.DELETE("/api/v1/members/{user_id}", { params: { path, query: { ingest_tokens: tokens ?? null } } }))
        : unwrap(api.PATCH("/api/v1/members/{user_id}", { params: { path }, body: { role: to, ingest_tokens: tokens ?? null } })),
    onSuccess: () => setAsked(null),
    onError: tell,
    onSettled: () => client.invalidateQueries(),
  });
  const select = (role: Role): void => {
    if (role === "viewer" && ingestTokens.length > 0) setAsked({ to: role });
    else change.mutate({ to: role });
  };
  return (
    <tr>
      <th scope="row">
        {member.name}
        {self && <span className={styles["dim"]}> (you)</span>}
      </th>
      <td>
        {member.email} {!member.email_verified && <span className={styles["dim"]}>not verified</span>}
      </td>
      <td>
        {mayChange && !self ? (
          <select aria-label={`Role of ${member.name}`} value={member.role} onChange={(event) => select(event.target.value as Role)}>
            {ROLES.map((role) => (
              <option key={role}>{role}</option>
            ))}
          </select>
        ) : (
          member.role
        )}
      </td>
      <td>
        <Time at={member.joined_at} />
      </td>
      {mayChange && (
        <td>
          {!self && (
            <Button kind="quiet" onClick={() => setAsked({ to: null })} aria-label={`Remove ${member.name}`}>
              Remove
            </Button>
          )}
          <Ask
            member={member}
            to={asked === null ? undefined : asked.to}
            ingestTokens={ingestTokens}
            onCancel={() => setAsked(null)}
            onDecide={(to, tokens) => change.mutate(tokens === undefined ? { to } : { to, tokens })}
          />
        </td>
      )}
    </tr>
  );
}

interface AskProps {
  member: Member;
  to: Change | undefined;
  ingestTokens: readonly string[];
  onCancel: () => void;
  onDecide: (to: Change, tokens?: IngestTokens) => void;
}

/** What a removal or the viewer role ends, and what happens to the member's ingest tokens. */
function Ask({ member, to, ingestTokens, onCancel, onDecide }: AskProps): ReactElement {
  const leaves = to === null;
  const verb = leaves ? "Remove member" : "Change role";
  const ends = leaves ? "The member's sessions and API tokens end at once." : "A viewer cannot own ingest tokens.";
  const owns =
    ingestTokens.length > 0
      ? ` ${member.name} owns ${plural(ingestTokens.length, "ingest token")}: ${ingestTokens.join(", ")}. Collectors stop without them. Anyone who has one can send data with it.`
      : "";
  const decide = (tokens?: IngestTokens): void => {
    if (to !== undefined) onDecide(to, tokens);
  };
  return (
    <Dialog open={to !== undefined} onOpenChange={(open) => !open && onCancel()} title={`${verb}: ${member.name}`} description={ends + owns}>
      <DialogActions>
        <Button onClick={onCancel}>Cancel</Button>
        {ingestTokens.length === 0 ? (
          <Button kind="primary" onClick={() => decide()}>
            {verb}
          </Button>
        ) : (
          <>
            <Button onClick={() => decide("revoke")}>{verb}, revoke tokens</Button>
            <Button kind="primary" onClick={() => decide("take_over")}>
              {verb}, take over tokens
            </Button>
          </>
        )}
      </DialogActions>
    </Dialog>
  );
}
