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
  /** Nodes with data in the window. */
  nodes: Node[];
  minutes: Minutes;
  choices: readonly Minutes[];
  /** The nodes are not loaded yet: space is reserved, nothing is shown. */
  pending: boolean;
  /** The window does not follow the clock. */
  fixed: boolean;
  onNode: (id: number) => void;
  onMinutes: (minutes: Minutes) => void;
  onNow: () => void;
}

/** Controls of a page about one node: node and window. */
export function WindowControls<Minutes extends number>({ node, nodes, minutes, choices, pending, fixed, onNode, onMinutes, onNow }: WindowControlsProps<Minutes>): ReactElement {
  // The current node might have no data in this window, but stays selectable.
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
