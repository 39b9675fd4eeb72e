import type { ReactElement } from "react";

import { minutesText } from "@/lib/time";
import { Button } from "@/ui/Button";
import { Choice } from "@/ui/Choice";

interface Node {
  id: number;
  name: string;
}

export interface WindowControlsProps<Minutes extends number> {
  node: Node | null | undefined;
  /** Those with data in the window. */
  nodes: Node[];
  minutes: Minutes;
  choices: readonly Minutes[];
  /** Which nodes there are is not known yet: room is kept, nothing is shown. */
  pending: boolean;
  /** The window stands still. */
  fixed: boolean;
  onNode: (id: number) => void;
  onMinutes: (minutes: Minutes) => void;
  onNow: () => void;
}

/** Of a page that is about one node: which one, and the window. */
export function WindowControls<Minutes extends number>({ node, nodes, minutes, choices, pending, fixed, onNode, onMinutes, onNow }: WindowControlsProps<Minutes>): ReactElement {
  // The node that is looked at may have told nothing in this window: it still can be chosen.
  const all = node != null && !nodes.some((one) => one.id === node.id) ? [node, ...nodes] : nodes;
  const choice = <Choice label="Window" options={choices.map((one) => [one, minutesText(one)])} value={minutes} onChange={onMinutes} />;
  const now = fixed && <Button onClick={onNow}>Back to now</Button>;
  if (pending) {
    return (
      <div style={{ display: "contents", visibility: "hidden" }}>
        {choice}
        {now}
      </div>
    );
  }
  return (
    <>
      {all.length > 1 && (
        <select aria-label="Node" value={node?.id ?? ""} onChange={(event) => onNode(Number(event.target.value))}>
          {all.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
      )}
      {choice}
      {now}
    </>
  );
}
