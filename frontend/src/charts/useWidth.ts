import { useLayoutEffect, useState, type RefObject } from "react";

/** The element's width in whole CSS pixels, kept up to date; 0 before the first layout. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const node = element.current;
    if (node === null) return undefined;
    // At once, not after the first paint: content drawn at that width would push down what is below it.
    const { paddingLeft, paddingRight } = getComputedStyle(node);
    // eslint-disable-next-line react-hooks/set-state-in-effect -- measured, before the browser paints
    setWidth(Math.max(0, Math.floor(node.clientWidth - (parseFloat(paddingLeft) || 0) - (parseFloat(paddingRight) || 0))));
    const observer = new ResizeObserver((entries) => {
      const box = entries[0]?.contentRect;
      if (box !== undefined) setWidth(Math.floor(box.width));
    });
    observer.observe(node);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
