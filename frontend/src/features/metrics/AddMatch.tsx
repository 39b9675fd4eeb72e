import { useState, type ReactElement, type SubmitEvent } from "react";

import type { MetricLabel } from "@/api/metrics";
import { count, plural } from "@/lib/format";
import { Button } from "@/ui/Button";

const OPERATORS = [
  ["=", "is"],
  ["!=", "is not"],
  ["~", "contains"],
] as const;

export interface AddMatchProps {
  labels: readonly MetricLabel[];
  onAdd: (match: string) => void;
}

/** A filter by label: one of its values, or part of a value if there are too many to list. */
export function AddMatch({ labels, onAdd }: AddMatchProps): ReactElement | null {
  const [name, setName] = useState("");
  const [operator, setOperator] = useState<(typeof OPERATORS)[number][0]>("=");
  const [value, setValue] = useState("");
  const label = labels.find((one) => one.name === name);
  if (labels.length === 0) return null;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (label === undefined || value === "") return;
    onAdd(`${label.name}${operator}${value}`);
    setName("");
    setValue("");
    setOperator("=");
  };
  return (
    <form onSubmit={submit} style={{ display: "contents" }}>
      <select
        aria-label="Filter by label"
        value={name}
        onChange={(event) => {
          setName(event.target.value);
          setValue("");
        }}
      >
        <option value="">Filter by label</option>
        {labels.map((one) => (
          <option key={one.name} value={one.name}>
            {one.name} ({plural(one.found, "value")})
          </option>
        ))}
      </select>
      {label !== undefined && (
        <>
          <select aria-label="Operator" value={operator} onChange={(event) => setOperator(OPERATORS.find(([one]) => one === event.target.value)?.[0] ?? "=")}>
            {OPERATORS.map(([one, text]) => (
              <option key={one} value={one}>
                {text}
              </option>
            ))}
          </select>
          {operator === "~" ? (
            <input type="text" aria-label="Part of the value" value={value} onChange={(event) => setValue(event.target.value)} />
          ) : (
            <select aria-label="Value" value={value} onChange={(event) => setValue(event.target.value)}>
              <option value="">{label.found > label.values.length ? `${count(label.values.length)} of ${plural(label.found, "value")}: use “contains” for others` : "Value"}</option>
              {label.values.map((one) => (
                <option key={one.value} value={one.value}>
                  {one.value} ({count(one.series)})
                </option>
              ))}
            </select>
          )}
          <Button type="submit" disabled={value === ""}>
            Add filter
          </Button>
        </>
      )}
    </form>
  );
}
