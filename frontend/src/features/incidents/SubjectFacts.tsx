import type { ReactElement } from "react"; export function SubjectFacts({ resourceId }: { resourceId: number }): ReactElement { return <p>{resourceId}</p>; }
