import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState, type ReactElement } from "react";

import { api, unwrap } from "@/api/client";
import { meQuery } from "@/api/me";
import { explain } from "@/api/problem";
import { Button } from "@/ui/Button";
import { ErrorState, Skeleton } from "@/ui/states";

import styles from "./Card.module.css";

/** The link of a verification email: opened in the requester's session, it proves the address. */
export function VerifyPage(): ReactElement {
  const [token] = useState(() => window.location.hash.slice(1));
  const client = useQueryClient();
  const me = useQuery({ ...meQuery(), retry: false });
  const verify = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/me/verification/confirm", { body: { token } })),
    onSuccess: () => client.invalidateQueries({ queryKey: meQuery().queryKey }),
  });

  useEffect(() => {
    document.title = "Verify address · Jitterscope";
  }, []);

  const problem = verify.error === null ? null : explain(verify.error);
  return (
    <main className={styles["screen"]}>
      {token === "" ? (
        <ErrorState heading="h1" title="Incomplete link" detail="The part after # is missing. Copy the whole link from the email." />
      ) : me.data !== undefined ? (
        <section className={styles["card"]}>
          <h1>Verify your address</h1>
          {verify.isSuccess ? (
            <>
              <p className={styles["lead"]}>{me.data.email} is verified.</p>
              <p className={styles["hint"]}>
                <Link to="/">Go to home</Link>
              </p>
            </>
          ) : (
            <>
              <p className={styles["lead"]}>
                You are signed in as {me.data.actor}, {me.data.email}.
              </p>
              {problem !== null && (
                <p className={styles["error"]} role="alert">
                  <strong>{problem.title}.</strong> {problem.detail}
                </p>
              )}
              <Button kind="primary" className={styles["submit"]} disabled={verify.isPending} onClick={() => verify.mutate()}>
                Verify address
              </Button>
            </>
          )}
        </section>
      ) : me.isError ? (
        <section className={styles["card"]}>
          <h1>Verify your address</h1>
          <p className={styles["lead"]}>Sign in with the account that requested the email.</p>
          <p className={styles["hint"]}>
            <Link to="/sign-in" search={{ next: "/verify" }} hash={token}>
              Sign in
            </Link>
          </p>
        </section>
      ) : (
        <Skeleton lines={4} label="Loading your account" />
      )}
    </main>
  );
}
