import type { MouseEvent } from "react";

/** Leads to a section of the page, without an entry in the browser's history, whose entries are views of the timeline. */
export function jump(event: MouseEvent<HTMLAnchorElement>): void {
  const part = document.getElementById(event.currentTarget.hash.slice(1));
  if (part === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  // While the page loads, what stands below something that loads is hidden (useSettled): not from those who want to go there.
  part.closest("main")?.setAttribute("data-settled", "");
  part.scrollIntoView({ block: "start" });
  part.focus({ preventScroll: true });
}
