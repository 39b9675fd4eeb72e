import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useState, type ReactElement, type SyntheticEvent } from "react";

import { type Schemas } from "@/api/client";
import { invitationQuery, meQuery, useAcceptInvitation } from "@/api/me";
import { explain } from "@/api/problem";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { ErrorState, Skeleton } from "@/ui/states";

import styles from "./Card.module.css";

type Invitation = Schemas["OpenInvitation"];

/** The invitation's token follows # in the address, so no server receives it and no log has it. */
export function AcceptPage(): ReactElement {
  const [token] = useState(() => window.location.hash.slice(1));
  const invitation = useQuery(invitationQuery(token));

  useEffect(() => {
    document.title = "Join · Jitterscope";
  }, []);

  return (
    <main className={styles["screen"]}>
      {token === "" ? (
        <ErrorState heading="h1" title="Incomplete link" detail="The part after # is missing. Copy the whole link from the invitation." />
      ) : invitation.data !== undefined ? (
        <Join token={token} invitation={invitation.data} />
      ) : invitation.isError ? (
        <ErrorState heading="h1" {...explain(invitation.error)} />
      ) : (
        <Skeleton lines={5} label="Loading invitation" />
      )}
    </main>
  );
}

function Join({ token, invitation }: { token: string; invitation: Invitation }): ReactElement {
  const { data: me } = useQuery({ ...meQuery(), retry: false });
  const lead = (
    <>
      <h1>Join {invitation.organization}</h1>
      <p className={styles["lead"]}>
        {invitation.email} is invited to Jitterscope as {invitation.role}.
      </p>
    </>
  );
  if (me?.email === invitation.email) return <AsMyself token={token} lead={lead} name={me.actor} />;
  if (invitation.known) {
    return (
      <section className={styles["card"]}>
        {lead}
        <p className={styles["hint"]}>This address has an account. Sign in with it to join.</p>
        <p className={styles["hint"]}>
          <SignIn token={token}>Sign in</SignIn>
        </p>
      </section>
    );
  }
  return <NewAccount token={token} lead={lead} />;
}

function AsMyself({ token, lead, name }: { token: string; lead: ReactElement; name: string }): ReactElement {
  const navigate = useNavigate();
  const accept = useAcceptInvitation();
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    accept.mutate({ token }, { onSuccess: () => void navigate({ to: "/" }) });
  };
  return (
    <form className={styles["card"]} onSubmit={submit}>
      {lead}
      <p className={styles["hint"]}>You are signed in as {name}, and join with this account.</p>
      <Refused error={accept.error} />
      <Button kind="primary" type="submit" className={styles["submit"]} disabled={accept.isPending}>
        Join as {name}
      </Button>
    </form>
  );
}

function NewAccount({ token, lead }: { token: string; lead: ReactElement }): ReactElement {
  const navigate = useNavigate();
  const accept = useAcceptInvitation();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    accept.mutate({ token, name, password }, { onSuccess: () => void navigate({ to: "/" }) });
  };
  return (
    <form className={styles["card"]} onSubmit={submit}>
      {lead}
      <Field label="Your name">
        {(attributes) => <input {...attributes} autoComplete="name" required value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field label="Password" hint="For a new account. At least 10 characters.">
        {(attributes) => (
          <input {...attributes} type="password" autoComplete="new-password" required minLength={10} value={password} onChange={(event) => setPassword(event.target.value)} />
        )}
      </Field>
      <Refused error={accept.error} />
      <Button kind="primary" type="submit" className={styles["submit"]} disabled={accept.isPending}>
        Join
      </Button>
      <p className={styles["hint"]}>
        Already have an account with this address? <SignIn token={token}>Sign in to join with it</SignIn>
      </p>
    </form>
  );
}

function SignIn({ token, children }: { token: string; children: string }): ReactElement {
  return (
    <Link to="/sign-in" search={{ next: "/accept" }} hash={token}>
      {children}
    </Link>
  );
}

function Refused({ error }: { error: Error | null }): ReactElement | null {
  if (error === null) return null;
  const { title, detail } = explain(error);
  return (
    <p className={styles["error"]} role="alert">
      <strong>{title}.</strong> {detail}
    </p>
  );
}
