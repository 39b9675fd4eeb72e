import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { openingView } from "@/charts/timeline/opening";
import { parseUs } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import type { Moment, TimelineQuery } from "@/widgets/timeline/TimelineView";

interface Opened {
  readonly onset_at: string;
  readonly evidence: readonly { readonly series: readonly { readonly from_us: number; readonly to_us: number }[] }[];
}

/** Where an incident's picture opens: at the onset, by the same data as the picture's. `load` and `extent` must be stable. */
export function useOpening({ onset_at, evidence }: Opened, extent: TimeView, load: (part: TimeView) => TimelineQuery): Moment {
  const { data: recorded } = useQuery({ ...load(extent), placeholderData: keepPreviousData });
  const onsetUs = parseUs(onset_at);
  const shown = evidence.find(({ series }) => series.length > 0)?.series[0];
  return useMemo(() => {
    const span = shown === undefined ? null : { fromUs: shown.from_us, toUs: shown.to_us };
    const view = recorded === undefined ? extent : openingView(recorded, onsetUs, span);
    return { name: "Onset", us: onsetUs, view };
  }, [recorded, extent, onsetUs, shown]);
}
