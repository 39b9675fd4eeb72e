import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement, type SyntheticEvent } from "react";

import { api, unwrap } from "@/api/client";
import { meQuery } from "@/api/me";
import { ingestTokensQuery } from "@/api/resources";
import { invitationsQuery, membersQuery, ROLES, settingsKeys, isValid, type Member, type Role } from "@/api/settings";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { Section } from "@/ui/Section";
import { Table } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { Async } from "@/widgets/Async";
import { SecretOnce } from "@/widgets/SecretOnce";
import { useRefusal } from "@/widgets/useRefusal";
import { useTellError } from "@/widgets/useTellError";

import { MemberRow } from "./MemberRow";
import styles from "./Settings.module.css";

export function Members(): ReactElement {
  const members = useQuery(membersQuery());
  const { data: me } = useQuery(meQuery());
  const refusal = useRefusal("members:write");
  const mayChange = refusal === null;
  const { data: tokens } = useQuery({ ...ingestTokensQuery(), enabled: mayChange });
  const ownedBy = (member: Member): readonly string[] => (tokens?.items ?? []).filter((one) => one.owner_id === member.user_id && isValid(one)).map((one) => one.name);
  return (
    <>
      <Section title="Members" note="Viewers read. Editors also act on incidents. Admins also manage channels and members.">
        {refusal !== null && <p className={styles["dim"]}>{refusal}</p>}
        <Async query={members} label="Loading members">
          {({ items }) => (
            <Table label="Members">
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">Email</th>
                  <th scope="col">Role</th>
                  <th scope="col">Joined</th>
                  {mayChange && <th scope="col">Action</th>}
                </tr>
              </thead>
              <tbody>
                {items.map((member) => (
                  <MemberRow key={member.user_id} member={member} ingestTokens={ownedBy(member)} mayChange={mayChange} self={member.user_id === me?.user_id} />
                ))}
              </tbody>
            </Table>
          )}
        </Async>
      </Section>
      {mayChange && <Invitations />}
    </>
  );
}

function Invitations(): ReactElement {
  const client = useQueryClient();
  const tell = useTellError();
  const { data: me } = useQuery(meQuery());
  const invitations = useQuery(invitationsQuery());
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const refresh = (): Promise<void> => client.invalidateQueries({ queryKey: settingsKeys.invitations });
  const invite = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/members/invitations", { body: { email, role } })),
    onSuccess: () => setEmail(""),
    onError: tell,
    onSettled: refresh,
  });
  const withdraw = useMutation({
    mutationFn: (id: number) => unwrap(api.DELETE("/api/v1/members/invitations/{invitation_id}", { params: { path: { invitation_id: id } } })),
    onError: tell,
    onSettled: refresh,
  });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    invite.mutate();
  };
  return (
    <Section title="Invite member" note={me?.sends_mail === true ? "The link is sent by email. It works once." : "Send the link yourself. It works once."}>
      <form className={styles["inline"]} onSubmit={submit}>
        <Field label="Email">
          {(attributes) => <input {...attributes} type="email" required value={email} onChange={(event) => setEmail(event.target.value)} />}
        </Field>
        <Field label="Role">
          {(attributes) => (
            <select {...attributes} value={role} onChange={(event) => setRole(event.target.value as Role)}>
              {ROLES.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
        <Button type="submit" kind="primary" disabled={invite.isPending}>
          Invite
        </Button>
      </form>
      {invite.data !== undefined &&
        (invite.data.accept_url !== null ? (
          <SecretOnce label={`Link for ${invite.data.invitation.email}`} text={invite.data.accept_url} />
        ) : (
          <p role="status">Mail sent to {invite.data.invitation.email}.</p>
        ))}
      <ul>
        {invitations.data?.items.map((invitation) => (
          <li key={invitation.id} className={styles["inline"]}>
            <span>
              {invitation.email}, {invitation.role}{" "}
              <span className={styles["dim"]}>
                invited by {invitation.invited_by}, until <Time at={invitation.expires_at} style="clock" />
              </span>
            </span>
            <Button kind="quiet" onClick={() => withdraw.mutate(invitation.id)}>
              Withdraw
            </Button>
          </li>
        ))}
      </ul>
    </Section>
  );
}
