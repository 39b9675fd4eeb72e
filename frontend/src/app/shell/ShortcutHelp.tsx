import type { ReactElement } from "react";

import { isMac } from "@/lib/keys";
import { Dialog } from "@/ui/Dialog";

import styles from "./ShortcutHelp.module.css";

const GROUPS: readonly { title: string; keys: readonly (readonly [string, string])[] }[] = [
  { title: "Everywhere", keys: [["⌘K", "search and commands"], ["?", "this help"], ["g h", "home"], ["g i", "incidents"], ["g r", "risks"], ["g p", "fixes and their predictions"], ["g e", "explore containers"], ["g v", "services"], ["g d", "DNS"], ["g t", "pod start"], ["g f", "evidence files"], ["g o", "collectors"], ["g s", "settings"], ["g c", "causes"]] },
  { title: "Lists", keys: [["j k", "next, previous"], ["Enter", "open"], ["a", "acknowledge"], ["m", "mute 1 h"]] },
  { title: "Map of the fleet (focused)", keys: [["← →", "container by container"], ["Home End", "first, last"], ["Enter", "open at its worst tick"]] },
  { title: "Incident", keys: [["[ ]", "previous, next incident"], ["z", "zoom to the trigger"], ["s", "drag to select instead of zoom"], ["x", "compare with another time"], ["l", "copy the link to this view"], ["c", "copy the first fix"], ["a", "acknowledge"], ["m", "mute 1 h"]] },
  { title: "Timeline (focused)", keys: [["← →", "tick by tick"], ["⇧← ⇧→", "pan"], ["+ −", "zoom"], ["0", "show all"], ["Enter", "select the tick"], ["Esc", "clear"]] },
];

export function ShortcutHelp({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }): ReactElement {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="Keyboard shortcuts">
      <div className={styles["groups"]}>
        {GROUPS.map((group) => (
          <section key={group.title}>
            <h3>{group.title}</h3>
            <dl>
              {group.keys.map(([key, meaning]) => (
                <div key={key}>
                  <dt>
                    <kbd>{isMac() ? key : key.replace("⌘", "Ctrl ")}</kbd>
                  </dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
