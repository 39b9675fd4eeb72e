import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { Button } from "@/ui/Button";

import { useNeighbors } from "./useNeighbors";

export function NeighborLinks({ id }: { id: number }): ReactElement {
  const { previous, next } = useNeighbors(id);
  const navigate = useNavigate();
  const go = (to: number | null): void => {
    if (to !== null) void navigate({ to: "/incidents/$incidentId", params: { incidentId: to } });
  };
  return (
    <>
      <Button onClick={() => go(previous)} disabled={previous === null} aria-label="Previous incident" aria-keyshortcuts="[" title="Previous incident  [">
        ‹
      </Button>
      <Button onClick={() => go(next)} disabled={next === null} aria-label="Next incident" aria-keyshortcuts="]" title="Next incident  ]">
        ›
      </Button>
    </>
  );
}
