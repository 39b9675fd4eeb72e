import { useState, type ReactElement } from "react";

import type { TokenInfo } from "@/api/settings";
import { ActionButton } from "@/ui/ActionButton";
import { Button } from "@/ui/Button";
import { Dialog, DialogActions } from "@/ui/Dialog";
import { Time } from "@/ui/Time";

/** What stops when a token is revoked. */
const STOPS: Record<TokenInfo["kind"], string> = {
  api: "Programs that use it are refused from their next request on. Tokens that were created with it end too. This cannot be undone.",
  ingest: "Collectors and senders that use it are refused from their next batch on, until they get a new token. This cannot be undone.",
};

export interface RevokeTokenProps {
  token: TokenInfo;
  /** Why the user cannot revoke it; null: allowed. */
  refusal: string | null;
  onRevoke: (id: number) => void;
}

/** Cannot be undone, so it asks for confirmation. */
export function RevokeToken({ token, refusal, onRevoke }: RevokeTokenProps): ReactElement {
  const [asked, setAsked] = useState(false);
  const revoke = (): void => {
    setAsked(false);
    onRevoke(token.id);
  };
  return (
    <>
      <ActionButton kind="quiet" refusal={refusal} onClick={() => setAsked(true)} aria-label={`Revoke ${token.name}`}>
        Revoke
      </ActionButton>
      <Dialog open={asked} onOpenChange={setAsked} title={`Revoke token: ${token.name}`} description={STOPS[token.kind]}>
        <p>
          {token.last_used_at === null ? (
            "Never used."
          ) : (
            <>
              Last used <Time at={token.last_used_at} />.
            </>
          )}
        </p>
        <DialogActions>
          <Button onClick={() => setAsked(false)}>Cancel</Button>
          <Button kind="danger" onClick={revoke}>
            Revoke token
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}
