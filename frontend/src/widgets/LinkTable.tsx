import { Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";

import { useRevokeLink, type SharedLink } from "@/api/sharing";
import { ActionButton } from "@/ui/ActionButton";
import { Button } from "@/ui/Button";
import { Table, tableStyles } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useToast } from "@/ui/Toast";
import { useTellError } from "@/widgets/useTellError";

const ENDED: Record<Exclude<SharedLink["state"], "active">, string> = {
  revoked: "revoked",
  expired: "expired",
  forbidden: "off: not allowed by the organization",
  owner_may_not: "off: its creator can no longer share",
};

export interface LinkTableProps {
  links: readonly SharedLink[];
  /** Whether to show each link's incident. */
  withIncident?: boolean;
  /** Why the user cannot revoke links; null: allowed. */
  refusal: string | null;
}

/** Links with their creator, last use, and a button to revoke. */
export function LinkTable({ links, withIncident = false, refusal }: LinkTableProps): ReactElement {
  return (
    <Table label="Read-only links">
      <thead>
        <tr>
          {withIncident && <th scope="col">Incident</th>}
          <th scope="col">Ends in</th>
          <th scope="col">State</th>
          <th scope="col">Created</th>
          <th scope="col">Last used</th>
          <th scope="col">Expires</th>
        </tr>
      </thead>
      <tbody>
        {links.map((link) => (
          <tr key={link.id}>
            {withIncident && (
              <td className={tableStyles["wrap"]}>
                <Link to="/incidents/$incidentId" params={{ incidentId: link.incident_id }}>
                  {link.incident_title}
                </Link>
              </td>
            )}
            <th scope="row">
              <code>…{link.hint}</code>
            </th>
            <td>
              <span className={tableStyles["dim"]}>{link.state === "active" ? "works" : ENDED[link.state]} </span>
              {link.state !== "revoked" && link.state !== "expired" && <Revoke link={link} refusal={refusal} />}
            </td>
            <td>
              <Time at={link.created_at} /> by {link.created_by}
            </td>
            <td className={tableStyles["nowrap"]}>{link.last_used_at === null ? "never" : <Time at={link.last_used_at} />}</td>
            <td className={tableStyles["nowrap"]}>
              <Time at={link.expires_at} style="clock" />
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

/** Cannot be undone, so it asks for confirmation. */
function Revoke({ link, refusal }: { link: SharedLink; refusal: string | null }): ReactElement {
  const [asking, setAsking] = useState(false);
  const { mutateAsync, isPending } = useRevokeLink();
  const toast = useToast();
  const tell = useTellError();
  if (!asking) {
    return (
      <ActionButton kind="quiet" refusal={refusal} aria-label={`Revoke the link that ends in ${link.hint}`} onClick={() => setAsking(true)}>
        Revoke
      </ActionButton>
    );
  }
  // Not a callback of `mutate`: the list is refetched first, and these buttons are unmounted by then.
  const revoke = (): void => void mutateAsync(link.id).then(() => toast({ text: "Link revoked" }), tell);
  return (
    <span role="group" aria-label="The link stops working at once">
      <Button kind="danger" disabled={isPending} onClick={revoke}>
        Revoke link
      </Button>{" "}
      <Button kind="quiet" onClick={() => setAsking(false)}>
        Cancel
      </Button>
    </span>
  );
}
