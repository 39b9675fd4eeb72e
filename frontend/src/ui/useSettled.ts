import { useLayoutEffect, type RefObject } from "react";

/** This long without anything that loads. */
const CALM_MS = 200;
/** What loads longer than this keeps nothing back. */
const MOST_MS = 5000;

/**
 * Marks a page as settled once its first content is there. Until then base.css shows nothing below what still loads: it
 * would be pushed away when that comes. `page`: what the page is of; another one loads anew.
 */
export function useSettled(main: RefObject<HTMLElement | null>, page: string): void {
  useLayoutEffect(() => {
    const node = main.current;
    if (node === null) return undefined;
    node.removeAttribute("data-settled");
    const settle = (): void => {
      node.setAttribute("data-settled", "");
      observer.disconnect();
      clearTimeout(calm);
      clearTimeout(most);
    };
    let calm: ReturnType<typeof setTimeout> | undefined;
    const most = setTimeout(settle, MOST_MS);
    const look = (): void => {
      clearTimeout(calm);
      if (node.querySelector("[data-loading]") === null) calm = setTimeout(settle, CALM_MS);
    };
    const observer = new MutationObserver(look);
    observer.observe(node, { childList: true, subtree: true });
    look();
    return () => {
      observer.disconnect();
      clearTimeout(calm);
      clearTimeout(most);
    };
  }, [main, page]);
}
