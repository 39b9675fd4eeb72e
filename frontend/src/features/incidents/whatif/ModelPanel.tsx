import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";

import { explain } from "@/api/problem";
import { modelQuery, type ModelAnswer, type ModelSettings, type WhatIfModel, type WhatIfWindow } from "@/api/whatif";
import { Button } from "@/ui/Button";
import { ErrorState, Skeleton } from "@/ui/states";
import { IntervalBar } from "@/widgets/IntervalBar";
import { StopSlider } from "@/widgets/StopSlider";

import { figureText, formatIn, isSame, stopsOf } from "./model";
import styles from "./ModelPanel.module.css";

/** Any what-if model, rendered from its own description: suggestions, controls, and the predicted outcome. */
export function ModelPanel({ model, of }: { model: WhatIfModel; of: WhatIfWindow }): ReactElement {
  const [change, setChange] = useState<ModelSettings>({});
  const { data, isError, error, refetch } = useQuery(modelQuery(model.id, of, change));
  if (data === undefined) return isError ? <ErrorState {...explain(error)} onRetry={() => void refetch()} /> : <Skeleton lines={4} height={40} label="Loading prediction" />;
  if (data.cannot_tell !== null) return <p className={styles["cannot"]}>{data.cannot_tell}</p>;
  return (
    <>
      <div className={styles["presets"]} role="group" aria-label="Values to try">
        <Button aria-pressed={isSame(change, {})} onClick={() => setChange({})}>
          As recorded
        </Button>
        {data.suggestions.map(({ title, settings }) => (
          <Button key={title} aria-pressed={isSame(change, settings)} onClick={() => setChange(settings)}>
            {title}
          </Button>
        ))}
      </div>
      <div className={styles["controls"]}>
        {model.controls.map((control) => (
          <Control key={control.id} control={control} answer={data} change={change} onChange={setChange} />
        ))}
      </div>
      {isError && <ErrorState {...explain(error)} onRetry={() => void refetch()} />}
      <Results answer={data} />
    </>
  );
}

interface ControlProps {
  control: WhatIfModel["controls"][number];
  answer: ModelAnswer;
  change: ModelSettings;
  onChange: (change: ModelSettings) => void;
}

function Control({ control, answer, change, onChange }: ControlProps): ReactElement {
  const value = change[control.id] ?? null;
  const set = (next: ModelSettings[string]): void => {
    const rest = Object.fromEntries(Object.entries(change).filter(([name]) => name !== control.id));
    onChange(next === null ? rest : { ...rest, [control.id]: next });
  };
  if (control.unit === "names") {
    const chosen = Array.isArray(value) ? value : [];
    return (
      <fieldset className={styles["names"]}>
        <legend>{control.title}</legend>
        {(answer.choices[control.id] ?? []).map((name) => (
          <label key={name}>
            <input type="checkbox" checked={chosen.includes(name)} onChange={(event) => set(event.target.checked ? [...chosen, name] : chosen.filter((one) => one !== name))} />
            {name}
          </label>
        ))}
        {control.hint !== "" && <p className={styles["hint"]}>{control.hint}</p>}
      </fieldset>
    );
  }
  const recorded = answer.settings[control.id] ?? null;
  const off = typeof recorded === "number" ? `as recorded, ${formatIn(control.unit)(recorded)}` : "as recorded";
  return (
    <div>
      <StopSlider label={control.title} off={off} stops={stopsOf(control, answer)} value={typeof value === "number" ? value : null} onChange={set} format={formatIn(control.unit)} />
      {control.hint !== "" && <p className={styles["hint"]}>{control.hint}</p>}
    </div>
  );
}

const ROWS = ["As recorded", "What if"] as const;

function Results({ answer }: { answer: ModelAnswer }): ReactElement {
  const [first] = answer.tried;
  const titles = first?.figures ?? [];
  const withOutcome = answer.tried.some(({ outcome }) => outcome !== null);
  const [main] = titles;
  const highest = Math.max(1e-9, ...answer.tried.map(({ figures }) => figures[0]?.interval?.high ?? 0));
  const now = first?.figures[0]?.interval?.expected ?? 0;
  const notes = [...new Set([...(answer.tried.at(-1)?.notes ?? []), ...answer.notes])];
  return (
    <>
      <div className={styles["scroll"]}>
        <table className={styles["results"]} aria-label="As recorded and with the setting">
          <thead>
            <tr>
              <th scope="col">Setting</th>
              {withOutcome && <th scope="col">Outcome</th>}
              {titles.map(({ id, title }) => (
                <th key={id} scope="col" data-figure>
                  {title}
                </th>
              ))}
              <td className={styles["bar"]} />
            </tr>
          </thead>
          <tbody>
            {answer.tried.map((tried, index) => (
              <tr key={ROWS[index]} data-good={tried.good ?? undefined}>
                <th scope="row">{ROWS[index]}</th>
                {withOutcome && (
                  <td className={styles["outcome"]}>
                    <strong>{tried.outcome ?? "–"}</strong>
                  </td>
                )}
                {tried.figures.map((figure) => (
                  <td key={figure.id} data-figure>
                    {figureText(figure)}
                  </td>
                ))}
                <td className={styles["bar"]}>
                  {main !== undefined && tried.figures[0]?.interval != null && (
                    <IntervalBar interval={tried.figures[0].interval} now={now} max={highest * 1.04} good={tried.good ?? true} format={formatIn(main.unit)} nowLabel="recorded" />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {notes.map((note) => (
        <p key={note} className={styles["note"]}>
          {note}
        </p>
      ))}
    </>
  );
}
