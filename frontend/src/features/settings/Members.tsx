import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement, type SyntheticEvent } from "react";

import { api, unwrap } from "@/api/client";
import { meQuery } from "@/api/me";
import { invitationsQuery, membersQuery, settingsKeys, type Member, type Role } from "@/api/settings";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { Section } from "@/ui/Section";
import { Table } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { Async } from "@/widgets/Async";
import { SecretOnce } from "@/widgets/SecretOnce";
import { useTellError } from "@/widgets/useTellError";

import styles from "./Settings.module.css";

const ROLES: readonly Role[] = ["viewer", "editor", "admin"];

export function Members(): ReactElement {
  const members = useQuery(membersQuery());
  const { data: me } = useQuery(meQuery());
  const mayChange = me?.scopes.includes("members:write") ?? false;
  return (
    <>
      <Section title="Members" note="Viewers read. Editors also act on incidents and channels. Admins also manage members.">
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
                  <MemberRow key={member.user_id} member={member} mayChange={mayChange} self={member.user_id === me?.user_id} />
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

function MemberRow({ member, mayChange, self }: { member: Member; mayChange: boolean; self: boolean }): ReactElement {
  const client = useQueryClient();
  const tell = useTellError();
  const done = { onError: tell, onSettled: () => client.invalidateQueries({ queryKey: settingsKeys.members }) };
  const path = { path: { user_id: member.user_id } };
  const change = useMutation({ mutationFn: (role: Role) => unwrap(api.PATCH("/api/v1/members/{user_id}", { params: path, body: { role } })), ...done });
  const remove = useMutation({ mutationFn: () => unwrap(api.DELETE("/api/v1/members/{user_id}", { params: path })), ...done });
  return (
    <tr>
      <th scope="row">
        {member.name}
        {self && <span className={styles["dim"]}> (you)</span>}
      </th>
      <td>{member.email}</td>
      <td>
        {mayChange && !self ? (
          <select aria-label={`Role of ${member.name}`} value={member.role} onChange={(event) => change.mutate(event.target.value as Role)}>
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
            <Button kind="quiet" onClick={() => remove.mutate()} aria-label={`Remove ${member.name}`}>
              Remove
            </Button>
          )}
        </td>
      )}
    </tr>
  );
}

function Invitations(): ReactElement {
  const client = useQueryClient();
  const tell = useTellError();
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
    <Section title="Invite member" note="Send the link yourself. It works once.">
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
      {invite.data !== undefined && <SecretOnce label={`Link for ${invite.data.invitation.email}`} text={invite.data.accept_url} />}
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
