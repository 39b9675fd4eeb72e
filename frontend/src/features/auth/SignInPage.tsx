import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useEffect, useState, type ReactElement, type SyntheticEvent } from "react";

import { useSignIn } from "@/api/me";
import { explain } from "@/api/problem";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";

import styles from "./Card.module.css";

const route = getRouteApi("/sign-in");

export function SignInPage(): ReactElement {
  const { next, organization } = route.useSearch();
  const router = useRouter();
  const signIn = useSignIn();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");

  useEffect(() => {
    document.title = "Sign in · Jitterscope";
  }, []);

  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    signIn.mutate(
      { email, password, organization },
      // Back to where the session ended, including the part after #.
      { onSuccess: () => router.history.push(next === undefined ? "/" : `${next}${window.location.hash}`) },
    );
  };

  const problem = signIn.error === null ? null : explain(signIn.error);
  return (
    <main className={styles["screen"]}>
      <form className={styles["card"]} onSubmit={submit}>
        <h1>Sign in to Jitterscope</h1>
        <p className={styles["lead"]}>Why containers stall for tens of milliseconds, and what to change.</p>
        <Field label="Email">
          {(attributes) => <input {...attributes} type="email" name="email" autoComplete="username" required value={email} onChange={(event) => setEmail(event.target.value)} />}
        </Field>
        <Field label="Password">
          {(attributes) => (
            <input {...attributes} type="password" name="password" autoComplete="current-password" required value={password} onChange={(event) => setPassword(event.target.value)} />
          )}
        </Field>
        {problem !== null && (
          <p className={styles["error"]} role="alert">
            <strong>{problem.title}.</strong> {problem.detail}
          </p>
        )}
        <Button kind="primary" type="submit" className={styles["submit"]} disabled={signIn.isPending}>
          {signIn.isPending ? "Signing in…" : "Sign in"}
        </Button>
        <p className={styles["hint"]}>
          <code>make up</code> prints the first login. Everyone else joins by invitation, under Settings.
        </p>
      </form>
    </main>
  );
}
