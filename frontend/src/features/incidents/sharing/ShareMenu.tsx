import { lazy, Suspense, useEffect, useEffectEvent, useState, type ReactElement } from "react";

import type { Incident } from "@/api/incidents";
import { usePictureControl, type Shown } from "@/features/incidents/pictureContext";
import { plainKey } from "@/lib/keys";
import { formatView } from "@/lib/search";
import type { TimeView } from "@/lib/timeView";
import { Button } from "@/ui/Button";
import { Menu } from "@/ui/Menu";
import { usePageCommand } from "@/ui/pageCommands";
import { useToast } from "@/ui/Toast";

// Most readers of an incident open neither.
const LinkDialog = lazy(async () => ({ default: (await import("./LinkDialog")).LinkDialog }));
const PostMortemDialog = lazy(async () => ({ default: (await import("./PostMortemDialog")).PostMortemDialog }));

/** Ways to share the incident: a link to this view, a read-only link, a post-mortem. */
export function ShareMenu({ incident }: { incident: Incident }): ReactElement {
  const [open, setOpen] = useState<"postMortem" | Shown | null>(null);
  const { current } = usePictureControl();
  const toast = useToast();
  const copy = (): void => {
    const { view, selection } = current();
    navigator.clipboard.writeText(linkTo(view, selection)).then(
      () => toast({ text: "Link to this view copied" }),
      () => toast({ text: "The browser blocked the copy. Copy the page address instead.", tone: "error" }),
    );
  };
  const press = useEffectEvent((event: KeyboardEvent) => {
    if (plainKey(event) === "l") copy();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => press(event);
    window.addEventListener("keydown", listener);
    return () => window.removeEventListener("keydown", listener);
  }, []);
  usePageCommand("Copy link to this view", copy);
  usePageCommand("Share: read-only link", () => setOpen(current()));
  usePageCommand("Share: post-mortem", () => setOpen("postMortem"));
  const close = (isOpen: boolean): void => {
    if (!isOpen) setOpen(null);
  };
  return (
    <>
      <Button onClick={copy} shortcut="l" title="The page address with the timeline's zoom and selection">
        Copy link
      </Button>
      <Menu trigger={<Button>Share</Button>}>
        {({ MenuItem }) => (
          <>
            <MenuItem onSelect={() => setOpen(current())}>Read-only link</MenuItem>
            <MenuItem onSelect={() => setOpen("postMortem")}>Post-mortem</MenuItem>
          </>
        )}
      </Menu>
      <Suspense>
        {open !== null && open !== "postMortem" && <LinkDialog incidentId={incident.id} {...open} onOpenChange={close} />}
        {open === "postMortem" && <PostMortemDialog incidentId={incident.id} onOpenChange={close} />}
      </Suspense>
    </>
  );
}

/** The address of this page at the exact zoom: the address bar updates only when the pointer rests. */
function linkTo(view: TimeView, selection: TimeView | null): string {
  const url = new URL(window.location.href);
  for (const [name, part] of [["view", view], ["sel", selection]] as const) {
    const text = formatView(part);
    if (text === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, text);
  }
  return url.toString();
}
