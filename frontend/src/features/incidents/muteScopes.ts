/** Possible scopes of a mute for an incident. Pure. */

import type { Incident } from "@/api/incidents";
import type { MuteFilter } from "@/api/mutes";

const NO_CONDITIONS: MuteFilter["conditions"] = { causes: [], namespaces: [], resources: [], nodes: [] };

/** A pattern that matches only this text. */
export const literally = (text: string): string => text.replace(/[*?[]/g, "[$&]");

interface MuteScope {
  readonly id: "incident" | "cause_here" | "cause" | "namespace";
  readonly title: string;
  readonly filter: MuteFilter;
}

/** Possible scopes of a mute for an incident, narrowest first. Pods come and go, so a known workload is used instead of
 * one of its containers. */
export function scopesOf(incident: Incident): MuteScope[] {
  const { id, cause, cause_title: causeTitle, namespace, workload, subject } = incident;
  const nothing: MuteFilter = { incident_id: null, resource_id: null, severities: [], conditions: NO_CONDITIONS, hours: null };
  const name = namespace !== null && workload !== null ? `${namespace}/${workload}` : null;
  const here: MuteFilter =
    name === null
      ? { ...nothing, resource_id: subject.resource_id, conditions: { ...NO_CONDITIONS, causes: [cause] } }
      : { ...nothing, conditions: { ...NO_CONDITIONS, causes: [cause], resources: [literally(name)] } };
  const scopes: MuteScope[] = [
    { id: "incident", title: "This incident", filter: { ...nothing, incident_id: id } },
    { id: "cause_here", title: `This cause on ${name ?? subject.name}`, filter: here },
    { id: "cause", title: `This cause everywhere: ${causeTitle}`, filter: { ...nothing, conditions: { ...NO_CONDITIONS, causes: [cause] } } },
  ];
  if (namespace !== null) {
    scopes.push({ id: "namespace", title: `Namespace ${namespace}`, filter: { ...nothing, conditions: { ...NO_CONDITIONS, namespaces: [literally(namespace)] } } });
  }
  return scopes;
}
