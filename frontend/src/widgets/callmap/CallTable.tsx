import { useState, type ReactElement } from "react";

import { SLOW_US } from "@/api/catalogue.gen";
import type { MapCall, MapPlace, ServiceMap } from "@/api/services";
import { count, microseconds, percent, significant } from "@/lib/format";
import { Button } from "@/ui/Button";
import { Chip } from "@/ui/Chip";
import { Table, tableStyles } from "@/ui/Table";

import styles from "./CallMap.module.css";
import { keyOf } from "./MapPicture";
import { PlaceLink, type LinkWindow } from "./PlaceLink";
import { levelOf, MARKS, serviceText } from "./words";

/** More rows than these only on request: the picture shows the same. */
const FIRST_ROWS = 20;

/** The calls of the map as rows, in the order of the answer: the most slow ones first. */
export function CallTable({ map, window }: { map: ServiceMap; window: LinkWindow }): ReactElement {
  const [all, setAll] = useState(false);
  const places = new Map(map.places.map((place) => [place.id, place]));
  const rows = all ? map.calls : map.calls.slice(0, FIRST_ROWS);
  return (
    <>
      <Table label="Calls">
        <thead>
          <tr>
            <th scope="col">Caller</th>
            <th scope="col">Called</th>
            {["Over 20 ms", "p99", "p50", "Slowest", "Rate"].map((title) => (
              <th key={title} scope="col" className={tableStyles["number"]}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((call) => (
            <Row key={keyOf(call)} call={call} caller={places.get(call.caller)} called={places.get(call.called)} window={window} />
          ))}
        </tbody>
      </Table>
      {rows.length < map.calls.length && <Button onClick={() => setAll(true)}>{`Show all ${count(map.calls.length)} calls`}</Button>}
    </>
  );
}

function Row({ call, caller, called, window }: { call: MapCall; caller: MapPlace | undefined; called: MapPlace | undefined; window: LinkWindow }): ReactElement {
  const level = levelOf(call);
  const service = serviceText(call, called);
  return (
    <tr className={styles["row"]}>
      <th scope="row">
        <PlaceLink opens={caller?.opens ?? null} window={window}>
          {caller?.name ?? call.caller}
        </PlaceLink>
      </th>
      <td>
        <PlaceLink opens={call.opens} window={window}>
          {called?.name ?? call.called}
        </PlaceLink>{" "}
        <Chip tone="dim">{call.protocol === "dns" ? "DNS" : "TCP"}</Chip>
        {service !== null && <p className={styles["dim"]}>{service}</p>}
      </td>
      <td className={tableStyles["number"]} data-hot={level === "slow" || level === "some" || undefined}>
        {level !== "unknown" && MARKS[level] !== "" && <span aria-hidden="true">{MARKS[level]} </span>}
        {percent(call.slow_ratio)}
      </td>
      <Latency us={call.p99_us} />
      <Latency us={call.p50_us} />
      <Latency us={call.max_us} />
      <td className={tableStyles["number"]}>{significant(call.calls_per_s)}/s</td>
    </tr>
  );
}

function Latency({ us }: { us: number | null }): ReactElement {
  return (
    <td className={tableStyles["number"]} data-hot={(us ?? 0) > SLOW_US || undefined}>
      {microseconds(us)}
    </td>
  );
}
