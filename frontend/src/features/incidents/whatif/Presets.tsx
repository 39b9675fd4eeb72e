import type { ReactElement } from "react";

import type { Schemas } from "@/api/client";
import type { Setting, SettingChange } from "@/api/whatif";
import { Button } from "@/ui/Button";

import { applied, changeOfFix, changeText, difference, formatChange } from "./setting";

export interface PresetsProps {
  fixes: readonly Schemas["Fix"][];
  recorded: Setting;
  change: SettingChange;
  onChange: (change: SettingChange) => void;
}

/** Values to try: the recorded setting, and the setting of each of the incident's fixes. */
export function Presets({ fixes, recorded, change, onChange }: PresetsProps): ReactElement {
  const presets = fixes.flatMap((fix) => {
    const of = changeOfFix(fix, recorded);
    const least = of === null ? {} : difference(recorded, applied(recorded, of));
    return Object.keys(least).length === 0 ? [] : [{ id: fix.id, title: fix.title, change: least }];
  });
  const now = formatChange(change);
  return (
    <>
      <Button aria-pressed={now === undefined} onClick={() => onChange({})}>
        As recorded
      </Button>
      {presets.map((preset) => (
        <Button key={preset.id} title={preset.title} aria-pressed={now === formatChange(preset.change)} onClick={() => onChange(preset.change)}>
          {changeText(preset.change)}
        </Button>
      ))}
    </>
  );
}
