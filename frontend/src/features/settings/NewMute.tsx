import { useMemo, useState, type ReactElement, type SyntheticEvent } from "react";

import { inHours, useCreateMute, type MuteFilter } from "@/api/mutes";
import { explain } from "@/api/problem";
import { parseUs, toRfc3339 } from "@/lib/time";
import { useSettled } from "@/lib/useSettled";
import { fromWallTime, toWallTime, zoneName } from "@/lib/wallTime";
import { hoursProblem, WEEK, type WeeklyHours } from "@/lib/weeklyHours";
import { ActionButton } from "@/ui/ActionButton";
import { Field } from "@/ui/Field";
import { Section } from "@/ui/Section";
import { useToast } from "@/ui/Toast";
import { HoursFields } from "@/widgets/mutes/HoursFields";
import { MutePreview } from "@/widgets/mutes/MutePreview";

import { NEW_FILTER, patternsOf, patternsProblem, SEVERITIES, type FilterForm } from "./channelFilter";
import { Patterns } from "./FilterFields";
import styles from "./Settings.module.css";

interface MuteForm {
  readonly patterns: FilterForm["patterns"];
  readonly severities: MuteFilter["severities"];
  readonly hours: WeeklyHours | null;
}

const NOTHING: MuteForm = { patterns: NEW_FILTER.patterns, severities: [], hours: null };

function filterOf({ patterns, severities, hours }: MuteForm): MuteFilter {
  const { namespaces, causes, resources, nodes } = patterns;
  const conditions = { namespaces: patternsOf(namespaces), causes: patternsOf(causes), resources: patternsOf(resources), nodes: patternsOf(nodes) };
  return { incident_id: null, resource_id: null, severities, conditions, hours };
}

/** Matches everything: the server would refuse it. */
const coversAll = ({ severities, conditions }: MuteFilter): boolean => severities.length === 0 && Object.values(conditions).every((one) => one.length === 0);

/** A mute of all incidents that match patterns, once or weekly. */
export function NewMute({ refusal }: { refusal: string | null }): ReactElement {
  const [form, setForm] = useState(NOTHING);
  const [endless, setEndless] = useState(true);
  const [wall, setWall] = useState(() => toWallTime(parseUs(inHours(24)), "local").slice(0, 16));
  const [reason, setReason] = useState("");
  const toast = useToast();
  const create = useCreateMute();
  const problem = patternsProblem(form.patterns) ?? (form.hours === null ? null : hoursProblem(form.hours, "Weekly hours", "These hours never end. Remove a day, or choose another end."));
  const filter = useMemo(() => filterOf(form), [form]);
  const isEmpty = coversAll(filter);
  const settled = useSettled(filter, problem === null && !isEmpty);
  const us = fromWallTime(wall, "local");
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    const until = form.hours !== null && endless ? null : us === null ? null : toRfc3339(us);
    create.mutate(
      { ...filter, until, reason: reason.trim() },
      {
        onSuccess: () => {
          toast({ text: "Mute added" });
          setForm(NOTHING);
          setReason("");
        },
      },
    );
  };
  const refused = create.error === null ? null : explain(create.error);
  return (
    <Section title="Add mute" note="All conditions must match. An incident that reached several namespaces or nodes is muted only if each of them matches.">
      <form className={styles["form"]} onSubmit={submit}>
        <Patterns label="Namespaces" hint="Comma-separated patterns: dev, team-*" condition="namespaces" value={form} onChange={setForm} />
        <Patterns label="Causes" hint="Such as cpu/*, dns/udp_loss" condition="causes" value={form} onChange={setForm} />
        <Patterns label="Resources" hint="Names, pods, containers, workloads, or cgroup paths, such as batch-*, dev/api. * matches everything." condition="resources" value={form} onChange={setForm} />
        <Patterns label="Nodes" hint="Such as edge-*" condition="nodes" value={form} onChange={setForm} />
        <fieldset className={styles["checks"]} data-short>
          <legend>Severities (none: all)</legend>
          {SEVERITIES.map((one) => (
            <label key={one}>
              <input
                type="checkbox"
                checked={form.severities.includes(one)}
                onChange={(event) => setForm({ ...form, severities: SEVERITIES.filter((other) => (other === one ? event.target.checked : form.severities.includes(other))) })}
              />
              {one}
            </label>
          ))}
        </fieldset>
        <p className={styles["check"]}>
          <label>
            <input
              type="checkbox"
              checked={form.hours !== null}
              onChange={(event) => setForm({ ...form, hours: event.target.checked ? { days: [...WEEK], start: "01:00", end: "03:00", time_zone: zoneName("local") } : null })}
            />
            Only in weekly hours
          </label>
        </p>
        {form.hours !== null && (
          <>
            <HoursFields value={form.hours} onChange={(part) => setForm({ ...form, hours: form.hours === null ? null : { ...form.hours, ...part } })} />
            <p className={styles["check"]}>
              <label>
                <input type="checkbox" checked={endless} onChange={(event) => setEndless(event.target.checked)} />
                Every week until it is ended
              </label>
            </p>
          </>
        )}
        {(form.hours === null || !endless) && (
          <Field label={`Until (${zoneName("local")})`}>
            {(attributes) => <input {...attributes} type="datetime-local" required value={wall} onChange={(event) => setWall(event.target.value)} />}
          </Field>
        )}
        <Field label="Reason">{(attributes) => <input {...attributes} required maxLength={500} autoComplete="off" value={reason} onChange={(event) => setReason(event.target.value)} />}</Field>
        {problem !== null ? (
          <p role="status" className={styles["hot"]} style={{ marginTop: 16 }}>
            {problem}
          </p>
        ) : (
          !isEmpty && !coversAll(settled) && <MutePreview filter={settled} />
        )}
        {refused !== null && (
          <p role="alert" className={styles["hot"]} style={{ marginTop: 12 }}>
            {refused.title}. {refused.detail}
          </p>
        )}
        <p style={{ marginTop: 16 }}>
          <ActionButton type="submit" kind="primary" refusal={refusal} disabled={create.isPending || isEmpty || problem !== null || reason.trim() === ""}>
            Add mute
          </ActionButton>
          {refusal !== null && <span className={styles["reason"]}>{refusal}</span>}
        </p>
      </form>
    </Section>
  );
}
