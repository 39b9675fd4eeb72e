import type { Incident } from "@/api/incidents";
import { usePageCommand } from "@/ui/pageCommands";
import { useToast } from "@/ui/Toast";

/** Copies the first patch that can help; also from the palette, if there is one. */
export function useCopyPatch({ fixes }: Incident): () => void {
  const toast = useToast();
  const fix = fixes.find(({ verdict, patches }) => verdict !== "cannot_help" && patches.length > 0);
  const copy = (): void => {
    const patch = fix?.patches[0];
    if (fix === undefined || patch === undefined) return;
    navigator.clipboard.writeText(patch.text).then(
      () => toast({ text: `Patch copied: ${fix.title}` }),
      () => toast({ text: "The browser blocked the copy. Open the fix and select its text.", tone: "error" }),
    );
  };
  usePageCommand(fix === undefined ? null : `Copy patch: ${fix.title}`, copy);
  return copy;
}
