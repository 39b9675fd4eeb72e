import { useCallback, useLayoutEffect, useRef, useState, type ReactElement } from "react";

import type { DnsPath } from "@/api/dns";
import { useWidth } from "@/charts/useWidth";

import { HopCard } from "./HopCard";
import styles from "./Path.module.css";
import { columns, linkSentence, linkText } from "./path";

/** Minimum width of a hop, and of a link next to it. */
const COLUMN_PX = 232;
const LINK_PX = 96;

interface Box {
  readonly left: number;
  readonly right: number;
  readonly middle: number;
}

/** The path of a query as a diagram: from left to right if there is room, otherwise from top to bottom. */
export function PathPicture({ path }: { path: Pick<DnsPath, "hops" | "links"> }): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(host);
  const stages = columns(path.hops);
  const wide = widthPx >= stages.length * COLUMN_PX + (stages.length - 1) * LINK_PX;
  const name = (id: string): string => path.hops.find((hop) => hop.id === id)?.name ?? id;
  return (
    <div ref={host} className={styles["host"]}>
      {widthPx > 0 && (wide ? <Wide path={path} widthPx={widthPx} /> : <Narrow path={path} />)}
      <ul className="visually-hidden" aria-label="Queries between hops">
        {path.links.map((link) => (
          <li key={`${link.asker} ${link.asked}`}>{linkSentence(link, name)}</li>
        ))}
      </ul>
    </div>
  );
}

function Wide({ path, widthPx }: { path: Pick<DnsPath, "hops" | "links">; widthPx: number }): ReactElement {
  const frame = useRef<HTMLDivElement>(null);
  const cards = useRef(new Map<string, HTMLElement>());
  const [boxes, setBoxes] = useState<ReadonlyMap<string, Box>>(new Map());
  const keep = useCallback(
    (id: string) => (node: HTMLElement | null) => {
      if (node === null) cards.current.delete(id);
      else cards.current.set(id, node);
    },
    [],
  );
  // The lines follow the layout of the cards.
  useLayoutEffect(() => {
    const node = frame.current;
    if (node === null) return undefined;
    const measure = (): void => {
      const origin = node.getBoundingClientRect();
      const next = new Map<string, Box>();
      cards.current.forEach((card, id) => {
        const box = card.getBoundingClientRect();
        next.set(id, { left: box.left - origin.left, right: box.right - origin.left, middle: (box.top + box.bottom) / 2 - origin.top });
      });
      setBoxes((before) => (same(before, next) ? before : next));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    cards.current.forEach((card) => observer.observe(card));
    return () => observer.disconnect();
  }, [path, widthPx]);
  const stages = columns(path.hops);
  return (
    <div ref={frame} className={styles["wide"]}>
      <svg className={styles["lines"]} aria-hidden="true">
        <defs>
          <marker id="dns-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
            <path d="M0 0.5 8 4 0 7.5z" fill="var(--dim)" />
          </marker>
        </defs>
        {path.links.map((link) => {
          const from = boxes.get(link.asker);
          const to = boxes.get(link.asked);
          if (from === undefined || to === undefined) return null;
          const bend = Math.max(24, (to.left - from.right) / 2);
          return (
            <path
              key={`${link.asker} ${link.asked}`}
              d={`M${from.right} ${from.middle} C${from.right + bend} ${from.middle} ${to.left - bend} ${to.middle} ${to.left - 2} ${to.middle}`}
              className={styles["line"]}
              data-known={link.known === "settings" || link.known === "clients"}
              markerEnd="url(#dns-arrow)"
            />
          );
        })}
      </svg>
      {stages.map((stage, index) => (
        <div key={index} className={styles["stage"]}>
          {stage.map((hop) => (
            <HopCard key={hop.id} hop={hop} ref={keep(hop.id)} />
          ))}
        </div>
      ))}
      {path.links.map((link) => {
        const from = boxes.get(link.asker);
        const to = boxes.get(link.asked);
        const text = linkText(link);
        if (from === undefined || to === undefined || text === "") return null;
        return (
          <p key={`${link.asker} ${link.asked}`} className={styles["linkLabel"]} aria-hidden="true" style={{ left: (from.right + to.left) / 2, top: (from.middle + to.middle) / 2, maxWidth: to.left - from.right - 12 }}>
            {text.split(" · ").map((part) => (
              <span key={part}>{part}</span>
            ))}
          </p>
        );
      })}
    </div>
  );
}

function Narrow({ path }: { path: Pick<DnsPath, "hops" | "links"> }): ReactElement {
  const name = (id: string): string => path.hops.find((hop) => hop.id === id)?.name ?? id;
  return (
    <ol className={styles["narrow"]}>
      {columns(path.hops)
        .flat()
        .map((hop) => (
          <li key={hop.id}>
            {path.links
              .filter((link) => link.asked === hop.id)
              .map((link) => (
                <p key={link.asker} className={styles["down"]} aria-hidden="true">
                  <span className={styles["arrow"]}>↓</span> from {name(link.asker)}
                  {linkText(link) !== "" && <span> · {linkText(link)}</span>}
                </p>
              ))}
            <HopCard hop={hop} />
          </li>
        ))}
    </ol>
  );
}

function same(one: ReadonlyMap<string, Box>, other: ReadonlyMap<string, Box>): boolean {
  if (one.size !== other.size) return false;
  for (const [id, box] of other) {
    const before = one.get(id);
    if (before === undefined || Math.abs(before.left - box.left) + Math.abs(before.right - box.right) + Math.abs(before.middle - box.middle) > 0.5) return false;
  }
  return true;
}
