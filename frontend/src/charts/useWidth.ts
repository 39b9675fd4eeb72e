import { useLayoutEffect, useState, type RefObject } from "react";

/** The element's width in whole CSS pixels, kept up to date; 0 before the first layout. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const node = element.current;
    if (node === null) return undefined;
    const observer = new ResizeObserver((entries) => {
      const box = entries[0]?.contentRect;
      if (box !== undefined) setWidth(Math.floor(box.width));
    });
    observer.observe(node);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
