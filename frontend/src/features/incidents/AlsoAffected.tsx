import type { ReactElement } from "react";

import type { Incident } from "@/api/incidents";
import { measure, MISSING } from "@/lib/format";
import { Table, tableStyles } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { SubjectName } from "@/widgets/SubjectName";

type Figure = Incident["also_affected"][number]["figures"][number];

const figureText = (figure: Figure | undefined): string => (figure === undefined ? MISSING : measure(figure.value, figure.unit));

/** Other resources with the same fault at the same time, which are part of the same incident. */
export function AlsoAffected({ members }: { members: Incident["also_affected"] }): ReactElement {
  const columns = [...new Map(members.flatMap(({ figures }) => figures).map((figure) => [figure.id, figure])).values()];
  return (
    <Table label="Also affected">
      <thead>
        <tr>
          <th scope="col">Server</th>
          <th scope="col">Node</th>
          {columns.map((column) => (
            <th key={column.id} scope="col" className={tableStyles["number"]}>
              {column.title}
            </th>
          ))}
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
            {columns.map(({ id }) => (
              <td key={id} className={tableStyles["number"]}>
                {figureText(member.figures.find((figure) => figure.id === id))}
              </td>
            ))}
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
