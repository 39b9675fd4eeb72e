import { useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { explain } from "@/api/problem";
import { Page } from "@/ui/Page";
import { ErrorState } from "@/ui/states";

export function Failed({ error, reset }: ErrorComponentProps): ReactElement {
  const router = useRouter();
  return (
    <Page title="Error" ownHeading>
      <ErrorState
        heading="h1"
        {...explain(error)}
        onRetry={() => {
          reset();
          void router.invalidate();
        }}
      />
    </Page>
  );
}
