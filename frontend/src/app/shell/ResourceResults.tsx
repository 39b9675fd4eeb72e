import type { ReactElement } from "react"; export function ResourceResults({ text }: { text: string; onChoose: (id: number) => void }): ReactElement | null { return text === "" ? null : null; }
