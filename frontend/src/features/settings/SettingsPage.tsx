import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ComponentType, ReactElement } from "react";

import { meQuery } from "@/api/me";
import { Page } from "@/ui/Page";
import { EmptyState } from "@/ui/states";

import { Account } from "./Account";
import { Audit } from "./Audit";
import { Channels } from "./Channels";
import { Limits } from "./Limits";
import { Members } from "./Members";
import { Mutes } from "./Mutes";
import { Repositories } from "./Repositories";
import { sectionsFor, type SectionId } from "./sections";
import styles from "./Settings.module.css";
import { SharedLinks } from "./SharedLinks";
import { Tokens } from "./Tokens";

const route = getRouteApi("/signed-in/settings/$section");

const CONTENT: Readonly<Record<SectionId, ComponentType>> = {
  channels: Channels,
  mutes: Mutes,
  repositories: Repositories,
  members: Members,
  tokens: Tokens,
  links: SharedLinks,
  limits: Limits,
  audit: Audit,
  account: Account,
};

export function SettingsPage(): ReactElement {
  const { section } = route.useParams();
  const { data: me } = useQuery(meQuery());
  const allowed = sectionsFor(me?.scopes ?? []);
  const chosen = allowed.find(({ id }) => id === section);
  const Content = chosen === undefined ? null : CONTENT[chosen.id];
  return (
    <Page title="Settings" lead={me?.organization.name}>
      <div className={styles["columns"]}>
        <nav aria-label="Settings">
          <ul className={styles["nav"]}>
            <li>
              <Link to="/settings/collectors">Collectors</Link>
            </li>
            {allowed.map(({ id, title }) => (
              <li key={id}>
                <Link to="/settings/$section" params={{ section: id }} activeProps={{ "aria-current": "page" }}>
                  {title}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div className={styles["content"]}>
          {me?.warnings.map(({ title, detail, what_to_do }) => (
            <div key={title} className={styles["warning"]} role="alert">
              <h2>{title}</h2>
              <p>{detail}</p>
              <p>{what_to_do}</p>
            </div>
          ))}
          {Content !== null ? (
            <Content />
          ) : (
            <EmptyState title="No access">
              <p>Your role cannot open this section. Ask an admin of {me?.organization.name ?? "your organization"}.</p>
            </EmptyState>
          )}
        </div>
      </div>
    </Page>
  );
}
