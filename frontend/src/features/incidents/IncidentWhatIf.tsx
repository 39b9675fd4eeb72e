import { useEffect, useRef, useState, type ReactElement, type RefObject } from "react";

import type { Incident } from "@/api/incidents";
import type { SettingChange } from "@/api/whatif";
import { parseUs, US_PER_S } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import { Section } from "@/ui/Section";

import styles from "./IncidentPage.module.css";
import { formatChange, parseChange } from "./whatif/setting";
import { WhatIfPanel } from "./whatif/WhatIfPanel";

/** A longer window makes a moving slider slow; its last minutes hold the fault. */
const LONGEST_US = 600 * US_PER_S;

export interface IncidentWhatIfProps {
  incident: Incident;
  /** As the URL has it. */
  tried: string | undefined;
  onTried: (tried: string | undefined) => void;
  extent: TimeView;
  view: TimeView;
  onView: (view: TimeView) => void;
}

/** The what-if panel on the incident's window. It replays only once somebody comes near. */
export function IncidentWhatIf({ incident, tried, onTried, extent, view, onView }: IncidentWhatIfProps): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const near = useNear(host);
  const [change, setChange] = useState<SettingChange>(() => parseChange(tried));
  useEffect(() => {
    const next = formatChange(change);
    if (next === tried) return undefined;
    const timer = setTimeout(() => onTried(next), 300);
    return () => clearTimeout(timer);
  }, [change, tried, onTried]);
  const toUs = parseUs(incident.window_to);
  const window = { fromUs: Math.max(parseUs(incident.window_from), toUs - LONGEST_US), toUs };
  return (
    <Section
      title="What if"
      note="Move a setting: the recorded demand is replayed under it, and every figure comes with the interval that holds the outcome in 9 of 10 cases. Nothing is changed on the node."
    >
      <div ref={host} className={styles["whatIf"]}>
        {near && (
          <WhatIfPanel
            of={{ resourceId: incident.subject.resource_id, window }}
            fixes={incident.fixes}
            change={change}
            onChange={setChange}
            extent={extent}
            view={view}
            onView={onView}
          />
        )}
      </div>
    </Section>
  );
}

/** True from the moment the element is almost on the screen. */
function useNear(host: RefObject<HTMLElement | null>): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    const node = host.current;
    if (node === null) return undefined;
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && setNear(true), { rootMargin: "400px" });
    observer.observe(node);
    return () => observer.disconnect();
  }, [host]);
  return near;
}
