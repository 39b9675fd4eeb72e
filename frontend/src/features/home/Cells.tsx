import { Link } from "@tanstack/react-router";
import { useRef, useState, type KeyboardEvent, type ReactElement } from "react";

import type { FleetContainer } from "@/api/fleet";
import { tickSearch } from "@/lib/container";
import { plural } from "@/lib/format";
import { useNowUs } from "@/ui/Time";

import { cellText, LEVELS, levelOf, type Group } from "./cells";
import styles from "./FleetMap.module.css";

const MARKS = Object.fromEntries(LEVELS.map(({ id, mark }) => [id, mark]));

/** All cells are one Tab stop; arrow keys move between them. */
export function Cells({ groups }: { groups: readonly Group[] }): ReactElement {
  const cells = useRef<HTMLDivElement>(null);
  const now = useNowUs();
  const all = groups.flatMap((group) => group.containers);
  const [stop, setStop] = useState<number | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const current = all.find(({ id }) => id === stop) ?? all[0];
  const told = all.find(({ id }) => id === (pointed ?? stop));

  const move = (event: KeyboardEvent): void => {
    const links = [...(cells.current?.querySelectorAll("a") ?? [])];
    const at = links.findIndex((link) => link === document.activeElement);
    const steps: Partial<Record<string, number>> = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 };
    const link = links[steps[event.key] ?? -1];
    if (at < 0 || link === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    link.focus();
  };

  return (
    <>
      {/* The links are what is pressed; this only moves the focus among them. */}
      {/* eslint-disable-next-line jsx-a11y/no-static-element-interactions */}
      <div ref={cells} className={styles["groups"]} onKeyDown={move}>
        {groups.map((group) => (
          <section key={`${group.name} ${group.containers[0]?.id ?? 0}`} className={styles["group"]} aria-label={`${group.name}, ${plural(group.containers.length, "container")}`}>
            <h3 title={group.name}>{group.name}</h3>
            <ul>
              {group.containers.map((container) => (
                <li key={container.id}>
                  <Cell container={container} text={cellText(container, now)} isStop={container.id === current?.id} onFocus={() => setStop(container.id)} onPoint={(is) => setPointed(is ? container.id : null)} />
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
      {/* Screen readers have the same words as the name of the link. */}
      <p className={styles["told"]} aria-hidden="true">
        {told === undefined ? "Point at a cell, or move to it with Tab and arrows." : cellText(told, now)}
      </p>
    </>
  );
}

interface CellProps {
  container: FleetContainer;
  text: string;
  isStop: boolean;
  onFocus: () => void;
  onPoint: (is: boolean) => void;
}

function Cell({ container, text, isStop, onFocus, onPoint }: CellProps): ReactElement {
  const level = levelOf(container);
  return (
    <Link
      to="/resources/$resourceId"
      params={{ resourceId: container.id }}
      search={container.worst_tick === null ? { minutes: 60 } : tickSearch(container.worst_tick)}
      // No preloading: a passing pointer crosses hundreds of cells.
      preload={false}
      className={styles["cell"]}
      data-level={level}
      aria-label={text}
      tabIndex={isStop ? 0 : -1}
      onFocus={onFocus}
      onMouseEnter={() => onPoint(true)}
      onMouseLeave={() => onPoint(false)}
    >
      <span aria-hidden="true">{MARKS[level]}</span>
    </Link>
  );
}
