import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";

import { explain } from "@/api/problem";
import { limitsQuery } from "@/api/settings";
import { bytes, count } from "@/lib/format";
import { Section } from "@/ui/Section";
import { ErrorState, Skeleton } from "@/ui/states";
import { Table, tableStyles } from "@/ui/Table";

/** The organization's limits and its usage. */
export function Limits(): ReactElement {
  const { data, isError, error, refetch } = useQuery(limitsQuery());
  return (
    <Section title="Limits" note="What this organization uses: the busier of this minute and the last. Above a limit, requests get a 429 response, and collectors keep their data on disk.">
      {data === undefined ? (
        isError ? (
          <ErrorState {...explain(error)} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={6} label="Loading limits" />
        )
      ) : (
        <Table label="Limits">
          <thead>
            <tr>
              <th scope="col">Limit</th>
              <th scope="col">Used</th>
              <th scope="col">Share</th>
            </tr>
          </thead>
          <tbody>
            {data.map((one) => (
              <tr key={one.name}>
                <td>{one.title}</td>
                <td>
                  {amount(one.used, one.unit)} of {amount(one.most, one.unit)}
                  {one.unit.endsWith("/min") && " per minute"}
                </td>
                <td className={tableStyles["nowrap"]}>
                  <meter min={0} max={one.most} high={0.8 * one.most} value={Math.min(one.used, one.most)} aria-label={`${one.title}: share used`} /> {share(one.used, one.most)}
                  {one.near && <strong> ⚠ near the limit</strong>}
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
    </Section>
  );
}

const share = (used: number, most: number): string => (used > 0 && used / most < 0.01 ? "< 1 %" : `${Math.round((100 * used) / most)} %`);

/** Titles name the counted thing, so only bytes need a unit. */
const amount = (value: number, unit: string): string => (unit.startsWith("bytes") ? bytes(value) : count(value));
