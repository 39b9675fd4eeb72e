import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";

import { openingView } from "@/charts/timeline/opening";
import { parseUs, US_PER_S } from "@/lib/time";
import { around, span, type TimeView } from "@/lib/timeView";
import type { Moment, TimelineQuery } from "@/widgets/timeline/TimelineView";
import type { PictureState } from "@/widgets/timeline/usePicture";

/** The timeline includes the time before the incident and its end. */
const MARGIN_US = 30 * US_PER_S;

interface Pictured {
  readonly onset_at: string;
  readonly window_from: string;
  readonly window_to: string;
  readonly evidence: readonly { readonly series: readonly { readonly from_us: number; readonly to_us: number }[] }[];
}

interface IncidentPicture {
  readonly extent: TimeView;
  /** The initial view: at the onset, computed from the timeline's own data. */
  readonly moment: Moment;
  /** The view of a piece of evidence, with its surroundings. */
  readonly showing: (evidence: TimeView) => PictureState;
}

/** For an incident's own page or a read-only link. `load` must be stable. */
export function useIncidentPicture({ onset_at, window_from, window_to, evidence }: Pictured, load: (part: TimeView) => TimelineQuery): IncidentPicture {
  const extent = useMemo<TimeView>(() => ({ fromUs: parseUs(window_from) - MARGIN_US, toUs: parseUs(window_to) + MARGIN_US }), [window_from, window_to]);
  const { data: recorded } = useQuery({ ...load(extent), placeholderData: keepPreviousData });
  const onsetUs = parseUs(onset_at);
  const shown = evidence.find(({ series }) => series.length > 0)?.series[0];
  const moment = useMemo(() => {
    const first = shown === undefined ? null : { fromUs: shown.from_us, toUs: shown.to_us };
    const view = recorded === undefined ? extent : openingView(recorded, onsetUs, first);
    return { name: "Onset", us: onsetUs, view };
  }, [recorded, extent, onsetUs, shown]);
  const showing = useCallback((one: TimeView): PictureState => ({ view: around(one.fromUs + span(one) / 2, span(one) * 1.5, extent), selection: one }), [extent]);
  return { extent, moment, showing };
}
