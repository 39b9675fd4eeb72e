import { Link, useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { explain } from "@/api/problem";
import { Page } from "@/ui/Page";
import { EmptyState, ErrorState } from "@/ui/states";

export function NotFound(): ReactElement {
  return (
    <Page title="Page not found" ownHeading>
      <EmptyState title="Page not found" action={<Link to="/">Go to home</Link>}>
        <p>The address is mistyped or belongs to a different version.</p>
      </EmptyState>
    </Page>
  );
}

export function Failed({ error, reset }: ErrorComponentProps): ReactElement {
  const router = useRouter();
  return (
    <Page title="Error" ownHeading>
      <ErrorState
        {...explain(error)}
        onRetry={() => {
          reset();
          void router.invalidate();
        }}
      />
    </Page>
  );
}
