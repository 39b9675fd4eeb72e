import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";

import { explain } from "@/api/problem";
import { limitsQuery } from "@/api/settings";
import { Section } from "@/ui/Section";
import { ErrorState, Skeleton } from "@/ui/states";
import { Table, tableStyles } from "@/ui/Table";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** What the organization may use of the installation, and how much it uses. */
export function Limits(): ReactElement {
  const { data, isError, error, refetch } = useQuery(limitsQuery());
  return (
    <Section title="Limits" note="What this organization uses, in the busier of this and the last minute. Above a limit, requests are answered with 429 and collectors keep their data.">
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
              <th scope="col">At most</th>
              <th scope="col">Share</th>
            </tr>
          </thead>
          <tbody>
            {data.map((one) => (
              <tr key={one.name}>
                <td>{one.title}</td>
                <td className={tableStyles["nowrap"]}>
                  {whole.format(one.used)} {one.unit}
                </td>
                <td className={tableStyles["nowrap"]}>
                  {whole.format(one.most)} {one.unit}
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
