import type { MouseEvent } from "react";

/** Leads to a section of the page, without an entry in the browser's history, whose entries are views of the timeline. */
export function jump(event: MouseEvent<HTMLAnchorElement>): void {
  const part = document.getElementById(event.currentTarget.hash.slice(1));
  if (part === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  part.scrollIntoView({ block: "start" });
  part.focus({ preventScroll: true });
}
