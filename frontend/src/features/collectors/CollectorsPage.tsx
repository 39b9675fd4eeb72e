import type { ReactElement } from "react"; export function CollectorsPage(): ReactElement { return <main id="main" />; }
