import { useCallback, useMemo } from "react";

import type { Schemas } from "@/api/client";
import type { Incident } from "@/api/incidents";
import { useFixApplied } from "@/api/verification";
import { useToast } from "@/ui/Toast";
import type { FixApplying } from "@/widgets/FixList";
import { useRefusal } from "@/widgets/useRefusal";
import { useTellError } from "@/widgets/useTellError";

/** "I applied this fix": starts the before/after comparison. */
export function useFixApplying({ id, verification }: Incident): FixApplying {
  const { mutate, isPending } = useFixApplied();
  const toast = useToast();
  const tellError = useTellError();
  const refusal = useRefusal("incidents:write");
  const apply = useCallback(
    (fix: Schemas["Fix"]) =>
      mutate(
        { id, fixId: fix.id },
        { onSuccess: () => toast({ text: `Applied: ${fix.title}. The time after it is compared with the time before.` }), onError: tellError },
      ),
    [id, mutate, toast, tellError],
  );
  const measured = verification?.state === "waiting" ? verification.fix_id : null;
  return useMemo(() => ({ measured, busy: isPending, refusal, apply }), [measured, isPending, refusal, apply]);
}
