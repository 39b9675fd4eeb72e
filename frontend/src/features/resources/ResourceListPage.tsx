import type { ReactElement } from "react"; export function ResourceListPage(): ReactElement { return <main id="main" />; }
