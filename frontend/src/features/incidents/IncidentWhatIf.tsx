import { lazy, Suspense, useEffect, useRef, useState, type ReactElement, type RefObject } from "react";

import type { Incident } from "@/api/incidents";
import type { SettingChange, WhatIfModel, WhatIfWindow } from "@/api/whatif";
import { parseUs, US_PER_S } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import { Section } from "@/ui/Section";

import styles from "./IncidentPage.module.css";
import { usePictureControl, usePictureNow } from "./pictureContext";
import { formatChange, parseChange } from "./whatif/setting";
import type { WhatIfPanelProps } from "./whatif/WhatIfPanel";

const ModelPanel = lazy(async () => ({ default: (await import("./whatif/ModelPanel")).ModelPanel }));
const WhatIfPanel = lazy(async () => ({ default: (await import("./whatif/WhatIfPanel")).WhatIfPanel }));

/** A longer window would make sliders slow; the last minutes contain the fault. */
const LONGEST_US = 600 * US_PER_S;

export interface IncidentWhatIfProps {
  incident: Incident;
  model: WhatIfModel;
  /** As in the URL. */
  tried: string | undefined;
  onTried: (tried: string | undefined) => void;
  extent: TimeView;
}

/** The what-if panel for the incident's window. It replays only once it is almost visible. */
export function IncidentWhatIf({ incident, model, tried, onTried, extent }: IncidentWhatIfProps): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const near = useNear(host);
  const [change, setChange] = useState<SettingChange>(() => parseChange(tried));
  useEffect(() => {
    const next = formatChange(change);
    if (next === tried) return undefined;
    const timer = setTimeout(() => onTried(next), 300);
    return () => clearTimeout(timer);
  }, [change, tried, onTried]);
  return (
    <Section title="What if" note={noteOf(model)}>
      <div ref={host} className={styles["whatIf"]}>
        <Suspense>
          {near && <Panel of={whatIfWindow(incident)} fixes={incident.fixes} change={change} onChange={setChange} extent={extent} />}
        </Suspense>
      </div>
    </Section>
  );
}

/** Follows the timeline above. */
function Panel(props: Omit<WhatIfPanelProps, "view" | "onView">): ReactElement {
  const { view } = usePictureNow();
  const { setView } = usePictureControl();
  return <WhatIfPanel {...props} view={view} onView={setView} />;
}

/** The panel of any other model. It loads only once it is almost visible. */
export function IncidentModel({ incident, model }: { incident: Incident; model: WhatIfModel }): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const near = useNear(host);
  return (
    <Section title="What if" note={noteOf(model)}>
      <div ref={host}><Suspense>{near && <ModelPanel model={model} of={whatIfWindow(incident)} />}</Suspense></div>
    </Section>
  );
}

const noteOf = ({ summary }: WhatIfModel): string => `${summary} Each figure comes with its 90 % interval. Nothing is changed on the node.`;

function whatIfWindow(incident: Incident): WhatIfWindow {
  const toUs = parseUs(incident.window_to);
  return { resourceId: incident.subject.resource_id, window: { fromUs: Math.max(parseUs(incident.window_from), toUs - LONGEST_US), toUs } };
}

/** True once the element is almost on the screen. */
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
