import { useQuery } from "@tanstack/react-query";
import { useLocation, useMatch, useRouter } from "@tanstack/react-router";
import { useRef, useState, type ReactElement } from "react";

import { viewsQuery, type SavedView } from "@/api/views";
import { Button } from "@/ui/Button";
import { Menu } from "@/ui/Menu";
import { useRefusal } from "@/widgets/useRefusal";

import { ManageViews } from "./ManageViews";
import { SaveView } from "./SaveView";

type Open = "save" | "manage" | null;

/** Saved views of this page: open one, save the current one, and manage existing ones. */
export function SavedViews(): ReactElement {
  // Not the location's: that is already the next page's while this one is still shown.
  const pathname = useMatch({ strict: false, select: (match) => match.pathname });
  const searchStr = useLocation({ select: (location) => location.searchStr });
  const router = useRouter();
  const [open, setOpen] = useState<Open>(null);
  const trigger = useRef<HTMLButtonElement>(null);
  const { data: views = [], isError } = useQuery(viewsQuery(pathname));
  const maySave = useRefusal("views:write") === null;
  const shareRefusal = useRefusal("shared_views:write");
  const current = views.find((view) => view.search === searchStr);
  const show = (view: SavedView): void => router.history.push(`${view.page}${view.search}`);
  return (
    <>
      <Menu trigger={<Button ref={trigger}>{current === undefined ? "Views" : `View: ${current.name}`} ▾</Button>}>
        {({ MenuItem, MenuLabel, MenuSeparator }) => (
          <>
            {isError && <MenuLabel>Cannot load views</MenuLabel>}
            {!isError && views.length === 0 && <MenuLabel>No saved views</MenuLabel>}
            {views.map((view) => (
              <MenuItem key={view.id} onSelect={() => show(view)}>
                {view.name}
                {view.mine ? (view.shared ? " (shared)" : "") : ` (of ${view.owner ?? "a former member"})`}
              </MenuItem>
            ))}
            {maySave && (
              <>
                <MenuSeparator />
                <MenuItem onSelect={() => setOpen("save")}>Save this view</MenuItem>
                {views.some((view) => view.may_change) && <MenuItem onSelect={() => setOpen("manage")}>{shareRefusal === null ? "Rename, share, delete" : "Rename, delete"}</MenuItem>}
              </>
            )}
          </>
        )}
      </Menu>
      <SaveView shareRefusal={shareRefusal} open={open === "save"} onClose={() => setOpen(null)} returnTo={trigger} page={pathname} search={searchStr} />
      <ManageViews mayShare={shareRefusal === null} open={open === "manage"} onClose={() => setOpen(null)} returnTo={trigger} page={pathname} views={views.filter((view) => view.may_change)} />
    </>
  );
}
