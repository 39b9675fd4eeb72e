import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";

import type { Incident } from "@/api/incidents";
import { explain } from "@/api/problem";
import { dentryDropQuery, type DentryDrop } from "@/api/whatifDentries";
import { count, joinRange, significant } from "@/lib/format";
import { stopsBetween } from "@/lib/stops";
import { duration, parseUs, US_PER_S } from "@/lib/time";
import { Section } from "@/ui/Section";
import { ErrorState, Skeleton } from "@/ui/states";
import { IntervalBar } from "@/widgets/IntervalBar";
import { StopSlider } from "@/widgets/StopSlider";

import styles from "./DentryWhatIf.module.css";

/** From here on people notice a program that does not run. */
const NOTICED_S = 0.1;
const seconds = (value: number): string => duration(value * US_PER_S);

/** How long the kernel would be busy throwing cached names away: those it holds now, or any number. */
export function DentryWhatIf({ incident }: { incident: Incident }): ReactElement {
  const [negative, setNegative] = useState<number | null>(null);
  const { data, isError, error, refetch } = useQuery(dentryDropQuery(incident.subject.resource_id, parseUs(incident.window_to), negative));
  return (
    <Section
      title="What if they go at once"
      note={
        <>
          An unmount, the end of a container or <code>drop_caches</code> throws cached names away in one go, and what needs the kernel’s locks waits meanwhile. Nothing is dropped here.
        </>
      }
    >
      {data === undefined ? isError ? <ErrorState {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={3} height={40} label="Loading the prediction" /> : null}
      {data !== undefined && (data.pause_s === null ? <p className={styles["cannot"]}>{data.cannot_tell}</p> : <Pause drop={data} pause={data.pause_s} negative={negative} onNegative={setNegative} />)}
    </Section>
  );
}

/** "10,000 names of what does not exist, 60,000 names of files, 18,000 inodes". */
function dropped({ negative_dentries: negative, positive_dentries: positive, inodes }: DentryDrop): string {
  const parts = [
    [negative, "names of what does not exist"],
    [positive, "names of files"],
    [inodes, "inodes"],
  ] as const;
  return parts.flatMap(([number, what]) => (number !== null && number > 0 ? [`${count(number)} ${what}`] : [])).join(", ") || "nothing";
}

interface PauseProps {
  drop: DentryDrop;
  pause: NonNullable<DentryDrop["pause_s"]>;
  negative: number | null;
  onNegative: (negative: number | null) => void;
}

function Pause({ drop, pause, negative, onNegative }: PauseProps): ReactElement {
  return (
    <>
      <div className={styles["slider"]}>
        <StopSlider
          label="Names of what does not exist"
          off="all that there are"
          stops={stopsBetween(10_000, 100_000_000, [])}
          value={negative}
          onChange={onNegative}
          format={count}
        />
      </div>
      <p className={styles["pause"]} aria-live="polite">
        {seconds(pause.expected)} of a CPU{" "}
        <span className={styles["range"]}>
          {joinRange(seconds(pause.low), seconds(pause.high))}, for {dropped(drop)}
        </span>
      </p>
      <div className={styles["bar"]}>
        <IntervalBar interval={pause} now={NOTICED_S} max={1.04 * Math.max(pause.high, 2 * NOTICED_S)} good={pause.high < NOTICED_S} format={seconds} nowLabel="noticed from" />
      </div>
      <p className={styles["why"]}>
        {drop.each_us !== null && <>{significant(drop.each_us, 2)} µs each: </>}
        {drop.basis}
        {drop.waiting !== null && drop.waiting > 1.05 && <>. Others want the CPUs too: {significant(drop.waiting, 2)} times the kernel time</>}.
      </p>
    </>
  );
}
