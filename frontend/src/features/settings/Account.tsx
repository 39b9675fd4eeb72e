import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactElement, type SyntheticEvent } from "react";

import { api, unwrap } from "@/api/client";
import { meQuery } from "@/api/me";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { Section } from "@/ui/Section";
import { useToast } from "@/ui/Toast";
import { useTellError } from "@/widgets/useTellError";

import styles from "./Settings.module.css";

export function Account(): ReactElement {
  return (
    <>
      <Address />
      <Password />
    </>
  );
}

function Address(): ReactElement | null {
  const toast = useToast();
  const tell = useTellError();
  const { data: me } = useQuery(meQuery());
  const send = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/me/verification")),
    onSuccess: () => toast({ text: "Email sent. Open its link in this browser." }),
    onError: tell,
  });
  if (me === undefined) return null;
  return (
    <Section title="Email address">
      <p>
        {me.email}{" "}
        <span className={styles["dim"]}>
          {me.email_verified === true ? "✓ verified" : `not verified: it is valid only in ${me.organization.name}`}
        </span>
      </p>
      {me.email_verified !== true &&
        (me.sends_mail ? (
          <p style={{ marginTop: 14 }}>
            <Button disabled={send.isPending} onClick={() => send.mutate()}>
              {send.isPending ? "Sending…" : "Send verification email"}
            </Button>
          </p>
        ) : (
          <p className={styles["dim"]}>This installation sends no email, so it cannot verify addresses.</p>
        ))}
    </Section>
  );
}

function Password(): ReactElement {
  const toast = useToast();
  const tell = useTellError();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const change = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/me/password", { body: { current_password: current, new_password: next } })),
    onSuccess: () => {
      setCurrent("");
      setNext("");
      toast({ text: "Password changed. Your other sessions were signed out, in every organization." });
    },
    onError: tell,
  });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <Section title="Change password">
      <form className={styles["form"]} onSubmit={submit}>
        <Field label="Current password">
          {(attributes) => (
            <input {...attributes} type="password" autoComplete="current-password" required value={current} onChange={(event) => setCurrent(event.target.value)} />
          )}
        </Field>
        <Field label="New password" hint="At least 10 characters.">
          {(attributes) => (
            <input {...attributes} type="password" autoComplete="new-password" required minLength={10} value={next} onChange={(event) => setNext(event.target.value)} />
          )}
        </Field>
        <p style={{ marginTop: 14 }}>
          <Button type="submit" kind="primary" disabled={change.isPending}>
            Change password
          </Button>
        </p>
      </form>
    </Section>
  );
}
