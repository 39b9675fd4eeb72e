import type { ReactElement } from "react";

import type { Incident } from "@/api/incidents";
import { count, milliseconds } from "@/lib/format";
import { Table, tableStyles } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { SubjectName } from "@/widgets/SubjectName";

/** Who else has the same trouble at the same time: it is one incident. */
export function AlsoAffected({ members }: { members: Incident["also_affected"] }): ReactElement {
  return (
    <Table label="Also affected">
      <thead>
        <tr>
          <th scope="col">Server</th>
          <th scope="col">Node</th>
          <th scope="col" className={tableStyles["number"]}>Slow queries</th>
          <th scope="col" className={tableStyles["number"]}>Slowest</th>
          <th scope="col">First</th>
          <th scope="col">Last</th>
        </tr>
      </thead>
      <tbody>
        {members.map((member) => (
          <tr key={member.resource_id}>
            <th scope="row">
              <SubjectName subject={member} />
            </th>
            <td>{member.node}</td>
            <td className={tableStyles["number"]}>{count(member.slow_queries)}</td>
            <td className={tableStyles["number"]}>{milliseconds(member.max_ms)}</td>
            <td>
              <Time at={member.first_at} style="clock" />
            </td>
            <td>
              <Time at={member.last_at} style="clock" />
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
