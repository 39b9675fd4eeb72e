import { getRouteApi } from "@tanstack/react-router";
import { useCallback, type ReactElement } from "react";

import { minutesText } from "@/lib/time";
import { Button } from "@/ui/Button";
import { Choice } from "@/ui/Choice";
import { FilterText } from "@/ui/FilterText";
import { Filters } from "@/ui/Filters";
import { Page } from "@/ui/Page";
import { SavedViews } from "@/widgets/views/SavedViews";

import { DEFAULT_MINUTES, MINUTES, type ServicesSearch } from "./search";
import { ListCount, ServiceList } from "./ServiceList";
import { MapCount, ServicesMap } from "./ServicesMap";

const route = getRouteApi("/signed-in/services");
const LEAD = "Every server the collectors see, whatever its protocol: rate, latency, failures, and the stalls of its container.";
const MAP_LEAD = "Who calls whom over TCP and DNS, with the time of each hop.";
const VIEWS = [
  ["table", "Table"],
  ["map", "Map"],
] as const;

export function ServicesPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback((next: Partial<ServicesSearch>) => void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false }), [navigate]);
  const filter = useCallback((q: string | undefined) => change({ q }), [change]);
  const minutes = search.minutes ?? DEFAULT_MINUTES;
  const isMap = search.show === "map";
  return (
    <Page title="Services" lead={isMap ? MAP_LEAD : LEAD} actions={<SavedViews />}>
      <Filters>
        <Choice label="Show services as" options={VIEWS} value={isMap ? "map" : "table"} onChange={(view) => change({ show: view === "map" ? view : undefined })} />
        <FilterText label="Service, container or node" value={search.q} onChange={filter} />
        <Choice label="Window" options={MINUTES.map((choice) => [choice, minutesText(choice)])} value={minutes} onChange={(choice) => change({ minutes: choice === DEFAULT_MINUTES ? undefined : choice })} />
        {search.to !== undefined && <Button onClick={() => change({ to: undefined })}>Back to now</Button>}
        {isMap ? <MapCount search={search} /> : <ListCount search={search} />}
      </Filters>
      {isMap ? <ServicesMap search={search} /> : <ServiceList search={search} onSearch={change} />}
    </Page>
  );
}
