import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";

import { meQuery, useSignOut, useSwitchOrganization } from "@/api/me";
import { Button } from "@/ui/Button";
import { Menu } from "@/ui/Menu";
import { setTheme, useTheme, type Theme } from "@/ui/theme";

const THEMES: readonly (readonly [Theme, string])[] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];

export function AccountMenu({ onHelp }: { onHelp: () => void }): ReactElement {
  const { data: me } = useQuery(meQuery());
  const theme = useTheme();
  const navigate = useNavigate();
  const signOut = useSignOut();
  const switchOrganization = useSwitchOrganization();
  const others = me?.organizations.filter((one) => one.id !== me.organization.id) ?? [];
  return (
    <Menu
      trigger={
        <Button kind="quiet">
          <span className="visually-hidden">Account and settings</span>
          <span aria-hidden="true">{(me?.actor ?? "?").charAt(0).toUpperCase()} ▾</span>
        </Button>
      }
    >
      {({ MenuChoice, MenuItem, MenuLabel, MenuSeparator }) => (
        <>
          {me !== undefined && (
            <MenuLabel>
              {me.actor} · {me.organization.name}
            </MenuLabel>
          )}
          {others.map((one) => (
            <MenuItem key={one.id} onSelect={() => switchOrganization.mutate(one.id, { onSuccess: () => void navigate({ to: "/" }) })}>
              Switch to {one.name}
            </MenuItem>
          ))}
          <MenuSeparator />
          <MenuItem onSelect={() => void navigate({ to: "/settings" })}>Settings</MenuItem>
          <MenuItem onSelect={() => void navigate({ to: "/settings/collectors" })}>Collectors</MenuItem>
          <MenuSeparator />
          <MenuLabel>Help</MenuLabel>
          <MenuItem onSelect={() => void navigate({ to: "/help/causes" })}>Causes</MenuItem>
          <MenuItem onSelect={onHelp}>Keyboard shortcuts</MenuItem>
          <MenuSeparator />
          <MenuChoice label="Theme" value={theme} choices={THEMES} onChange={setTheme} />
          <MenuSeparator />
          <MenuItem onSelect={() => signOut.mutate(undefined, { onSuccess: () => void navigate({ to: "/sign-in" }) })}>Sign out</MenuItem>
        </>
      )}
    </Menu>
  );
}
