import { Link, useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { explain } from "@/api/problem";
import { Page } from "@/ui/Page";
import { EmptyState, ErrorState } from "@/ui/states";

export function NotFound(): ReactElement {
  return (
    <Page title="Nothing here" ownHeading>
      <EmptyState title="There is no such page" action={<Link to="/incidents">To the incidents</Link>}>
        <p>The address may be mistyped, or from another version.</p>
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
