import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import type { Schemas } from "@/api/client";

/** The subject, as a link to the resource. */
export function SubjectName({ subject }: { subject: Schemas["SubjectRef"] }): ReactElement {
  return (
    <Link to="/resources/$resourceId" params={{ resourceId: subject.resource_id }} title={`${subject.kind} ${subject.key} on ${subject.node}`}>
      {subject.name}
    </Link>
  );
}
