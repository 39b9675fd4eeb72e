import type { ReactElement } from "react";

import type { Received } from "@/api/metrics";
import { count, plural, significant } from "@/lib/format";
import { Table } from "@/ui/Table";
import { Time } from "@/ui/Time";

/** "1,204 series of 310 metrics, 80.3 samples/s" */
export function receivedText(received: Received): string {
  return `${plural(received.series, "series", "series")} of ${plural(received.metrics, "metric")}, ${significant(received.samples_per_s)} samples/s`;
}

/** Senders of remote write, with volume and age of the data. */
export function ReceivedTable({ received }: { received: Received }): ReactElement {
  const left = received.senders_found - received.senders.length;
  return (
    <>
      <Table label="Senders of remote write">
        <thead>
          <tr>
            <th scope="col">Sender</th>
            <th scope="col" data-wide>
              Ingest token
            </th>
            <th scope="col" data-number>
              Samples
            </th>
            <th scope="col" data-number>
              Not stored
            </th>
            <th scope="col" data-wide>
              Last request
            </th>
            <th scope="col">Newest sample</th>
          </tr>
        </thead>
        <tbody>
          {received.senders.map((sender) => (
            <tr key={`${sender.token} ${sender.agent} ${sender.first_at}`}>
              <td>{sender.agent}</td>
              <td data-wide>{sender.token}</td>
              <td data-number>{significant(sender.samples_per_s)}/s</td>
              <td data-number>{count(sender.not_written)}</td>
              <td data-wide>
                <Time at={sender.last_at} />
              </td>
              <td>{sender.newest_sample === null ? "none" : <Time at={sender.newest_sample} />}</td>
            </tr>
          ))}
        </tbody>
      </Table>
      {left > 0 && <p>{plural(left, "more sender")} with older requests.</p>}
    </>
  );
}
