import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, type ReactElement } from "react";

import { US_PER_S } from "@/lib/time";
import type { TimeView } from "@/lib/timeView";
import { useNowUs } from "@/ui/Time";

import { MetricPage } from "./MetricPage";
import { NameList } from "./NameList";
import { DEFAULT_MINUTES, type MetricsSearch } from "./search";

const route = getRouteApi("/signed-in/explore/metrics");
/** Samples arrive every 15 s or less often, and the window moves with them. */
const STEP_US = 15 * US_PER_S;

/** Metrics from other systems: the list of names, or the series of one metric. */
export function MetricsPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback((next: Partial<MetricsSearch>) => void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false }), [navigate]);
  const toUs = Math.floor(useNowUs() / STEP_US) * STEP_US;
  const minutes = search.minutes ?? DEFAULT_MINUTES;
  const window = useMemo<TimeView>(() => ({ fromUs: toUs - minutes * 60 * US_PER_S, toUs }), [minutes, toUs]);
  return search.name === undefined ? <NameList search={search} window={window} onSearch={change} /> : <MetricPage name={search.name} search={search} window={window} onSearch={change} />;
}
