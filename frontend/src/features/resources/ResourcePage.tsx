import type { ReactElement } from "react"; export function ResourcePage(): ReactElement { return <main id="main" />; }
