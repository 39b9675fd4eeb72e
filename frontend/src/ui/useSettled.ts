import { useLayoutEffect, type RefObject } from "react";

/** How long nothing may be loading. */
const CALM_MS = 200;
/** Anything that loads longer than this holds nothing back. */
const MOST_MS = 5000;

/**
 * Marks a page as settled once its first content has loaded. Until then, base.css hides everything below content that is
 * still loading, because it would shift later. `page`: identifies the page's subject; a new one starts over.
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
