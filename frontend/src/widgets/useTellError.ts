import { useCallback } from "react";

import { explain } from "@/api/problem";
import { useToast } from "@/ui/Toast";

/** Shows in a toast why a change was refused. */
export function useTellError(): (error: unknown) => void {
  const toast = useToast();
  return useCallback(
    (error) => {
      const { title, detail } = explain(error);
      toast({ text: `${title}. ${detail}`, tone: "error" });
    },
    [toast],
  );
}
