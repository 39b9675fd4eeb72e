import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState, type ReactElement, type SyntheticEvent } from "react";

import { useAcceptInvitation } from "@/api/me";
import { explain } from "@/api/problem";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { ErrorState } from "@/ui/states";

import styles from "./Card.module.css";

/** The invitation's token is in the address after #, which is sent to no server and kept in no log. */
export function AcceptPage(): ReactElement {
  const [token] = useState(() => window.location.hash.slice(1));
  const navigate = useNavigate();
  const accept = useAcceptInvitation();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");

  useEffect(() => {
    document.title = "Join · Jitterscope";
  }, []);

  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    accept.mutate({ token, name, password }, { onSuccess: () => void navigate({ to: "/incidents" }) });
  };

  const problem = accept.error === null ? null : explain(accept.error);
  return (
    <main className={styles["screen"]}>
      {token === "" ? (
        <ErrorState title="Incomplete link" detail="The part after # is missing. Copy the whole link from the invitation." />
      ) : (
        <form className={styles["card"]} onSubmit={submit}>
          <h1>Join your team</h1>
          <p className={styles["lead"]}>You have been invited to Jitterscope.</p>
          <Field label="Your name">
            {(attributes) => <input {...attributes} autoComplete="name" required value={name} onChange={(event) => setName(event.target.value)} />}
          </Field>
          <Field label="Password" hint="New users choose one with at least 10 characters. Existing users enter their own.">
            {(attributes) => (
              <input {...attributes} type="password" autoComplete="new-password" required value={password} onChange={(event) => setPassword(event.target.value)} />
            )}
          </Field>
          {problem !== null && (
            <p className={styles["error"]} role="alert">
              <strong>{problem.title}.</strong> {problem.detail}
            </p>
          )}
          <Button kind="primary" type="submit" className={styles["submit"]} disabled={accept.isPending}>
            Join
          </Button>
        </form>
      )}
    </main>
  );
}
