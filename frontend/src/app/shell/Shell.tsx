import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, Outlet } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState, type ReactElement } from "react";

import { incidentsQuery } from "@/api/incidents";
import { isMac } from "@/lib/keys";
import { OpenCount } from "@/ui/openCount";

import { AccountMenu } from "./AccountMenu";
import { LiveIndicator } from "./LiveIndicator";
import { PlacePages, Places } from "./Navigation";
import { loadPalette, Palette } from "./Palette";
import styles from "./Shell.module.css";
import { ServiceState } from "./ServiceState";
import { useShellKeys } from "./useShellKeys";

// Pages render without them; they have loaded by the time they are needed.
const loadHelp = () => import("./ShortcutHelp");
const ShortcutHelp = lazy(async () => ({ default: (await loadHelp()).ShortcutHelp }));

/** The frame of every page: skip link, navigation, command palette, account. */
export function Shell(): ReactElement {
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const open = useOpenCount();
  useShellKeys({ onPalette: setPalette, onHelp: setHelp });
  useEffect(() => {
    const idle = setTimeout(() => void Promise.all([loadPalette(), loadHelp()]).catch(() => undefined), 2000);
    return () => clearTimeout(idle);
  }, []);
  return (
    <>
      <a className={styles["skip"]} href="#main">
        Skip to content
      </a>
      <header className={styles["bar"]}>
        <Link to="/" className={styles["brand"]} aria-label="Jitterscope, home">
          <Logo />
          jitterscope
        </Link>
        <Places />
        <div className={styles["right"]}>
          <LiveIndicator />
          <button type="button" className={styles["palette"]} onClick={() => setPalette(true)} aria-keyshortcuts="Meta+K Control+K">
            <span>Search</span>
            <kbd aria-hidden="true">{isMac() ? "⌘" : "Ctrl "}K</kbd>
          </button>
          <AccountMenu onHelp={() => setHelp(true)} />
        </div>
      </header>
      <ServiceState />
      <PlacePages />
      <OpenCount value={open}>
        <Outlet />
      </OpenCount>
      {palette && <Palette onOpenChange={setPalette} />}
      <Suspense>
        {help && <ShortcutHelp open onOpenChange={setHelp} />}
      </Suspense>
    </>
  );
}

/** Count of the first page only: beyond it, the tab's title says that there are more. */
function useOpenCount(): string | null {
  const { data } = useInfiniteQuery(incidentsQuery({ state: "active" }));
  const first = data?.pages[0];
  if (first === undefined || first.items.length === 0) return null;
  return first.next_cursor === null ? String(first.items.length) : `${first.items.length}+`;
}

function Logo(): ReactElement {
  return (
    <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true" fill="none" strokeLinejoin="round" strokeLinecap="round">
      <path d="M3 12h26" stroke="var(--limit)" strokeWidth="2" strokeDasharray="3.4 3" />
      <path d="M3 23h6l2-2 2 2h2l2.4-18 3 23 2.2-5H29" stroke="var(--hot)" strokeWidth="2.8" />
    </svg>
  );
}
