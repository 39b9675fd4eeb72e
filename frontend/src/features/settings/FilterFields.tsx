import type { ReactElement } from "react";

import type { Channel, ChannelKind } from "@/api/settings";
import { zoneName } from "@/lib/wallTime";
import { Field } from "@/ui/Field";
import { HoursFields } from "@/widgets/mutes/HoursFields";

import { ACTION_TITLES, ACTIONS, newQuietHours, SEVERITIES, type Condition, type FilterForm } from "./channelFilter";
import styles from "./Settings.module.css";

interface FilterFieldsProps {
  value: FilterForm;
  onChange: (value: FilterForm) => void;
  kind: ChannelKind | undefined;
}

/** The common conditions. The rest is in MoreConditions. */
export function FilterFields({ value, onChange }: Omit<FilterFieldsProps, "kind">): ReactElement {
  return (
    <>
      <Field label="Minimum severity">
        {(attributes) => (
          <select {...attributes} value={value.severity} onChange={(event) => onChange({ ...value, severity: event.target.value as Channel["min_severity"] })}>
            {SEVERITIES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
      <Patterns
        label="Namespaces"
        hint="Comma-separated patterns: kube-system, team-*. Empty: all. An incident with no known namespace, such as one on a node, matches no pattern."
        condition="namespaces"
        value={value}
        onChange={onChange}
      />
    </>
  );
}

export function MoreConditions({ value, onChange, kind }: FilterFieldsProps): ReactElement {
  const silent = kind?.silent_actions ?? [];
  const toggle = (action: (typeof ACTIONS)[number], on: boolean): void =>
    onChange({ ...value, actions: ACTIONS.filter((one) => (one === action ? on : value.actions.includes(one))) });
  return (
    <>
      <Patterns label="Causes" hint="Such as cpu/*, dns/search_domain_amplification" condition="causes" value={value} onChange={onChange} />
      <Patterns label="Resources" hint="Names, pods, containers, workloads, or cgroup paths, such as coredns*, kube-system/coredns, /system.slice/*" condition="resources" value={value} onChange={onChange} />
      <Patterns label="Nodes" hint="Such as edge-*" condition="nodes" value={value} onChange={onChange} />
      <fieldset className={styles["checks"]}>
        <legend>Messages</legend>
        {ACTIONS.map((one) => (
          <label key={one}>
            <input
              type="checkbox"
              disabled={silent.includes(one)}
              checked={value.actions.includes(one) && !silent.includes(one)}
              onChange={(event) => toggle(one, event.target.checked)}
            />
            {ACTION_TITLES[one]}
          </label>
        ))}
      </fieldset>
      {kind !== undefined && silent.length > 0 && <p className={styles["hint"]}>{kind.title} does not support the disabled messages.</p>}
      <QuietFields value={value} onChange={onChange} />
    </>
  );
}

interface PatternsProps<Form> {
  label: string;
  hint: string;
  condition: Condition;
  value: Form;
  onChange: (value: Form) => void;
}

/** One input for a list of patterns. */
export function Patterns<Form extends Pick<FilterForm, "patterns">>({ label, hint, condition, value, onChange }: PatternsProps<Form>): ReactElement {
  return (
    <Field label={label} hint={hint}>
      {(attributes) => (
        <input
          {...attributes}
          autoComplete="off"
          spellCheck={false}
          value={value.patterns[condition]}
          onChange={(event) => onChange({ ...value, patterns: { ...value.patterns, [condition]: event.target.value } })}
        />
      )}
    </Field>
  );
}

function QuietFields({ value, onChange }: Omit<FilterFieldsProps, "kind">): ReactElement {
  const { quiet } = value;
  const change = (part: Partial<NonNullable<FilterForm["quiet"]>>): void => onChange({ ...value, quiet: quiet === null ? null : { ...quiet, ...part } });
  return (
    <>
      <p className={styles["check"]}>
        <label>
          <input type="checkbox" checked={quiet !== null} onChange={(event) => onChange({ ...value, quiet: event.target.checked ? newQuietHours(zoneName("local")) : null })} />
          Hold messages in quiet hours
        </label>
      </p>
      {quiet !== null && (
        <>
          <HoursFields value={quiet} onChange={change} />
          <p className={styles["check"]}>
            <label>
              <input type="checkbox" checked={quiet.critical_passes} onChange={(event) => change({ critical_passes: event.target.checked })} />
              Send critical incidents anyway
            </label>
          </p>
          <p className={styles["hint"]}>Messages are sent when quiet hours end. An incident that starts and ends within them sends none.</p>
        </>
      )}
    </>
  );
}
