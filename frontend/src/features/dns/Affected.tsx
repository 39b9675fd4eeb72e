import type { ReactElement } from "react";

import type { DnsAffected } from "@/api/dns";
import { Chip, type ChipTone } from "@/ui/Chip";
import { Prose } from "@/widgets/Prose";

import styles from "./Dns.module.css";

const VERDICTS: Record<DnsAffected["verdict"], { readonly text: string; readonly tone: ChipTone }> = {
  yes: { text: "yes", tone: "hotSolid" },
  at_risk: { text: "at risk", tone: "hot" },
  no: { text: "no", tone: "ok" },
  cannot_tell: { text: "not enough data", tone: "dim" },
};

const REPLIES: Record<DnsAffected["answers"][number]["answer"], { readonly text: string; readonly tone: ChipTone }> = {
  yes: { text: "yes", tone: "hot" },
  no: { text: "no", tone: "ok" },
  cannot_tell: { text: "not enough data", tone: "dim" },
};

/** The three questions that decide whether NodeLocal DNSCache exhausts kube-dns, with the measurements. */
export function Affected({ affected }: { affected: DnsAffected }): ReactElement {
  const verdict = VERDICTS[affected.verdict];
  return (
    <>
      <p className={styles["verdict"]}>
        <Chip tone={verdict.tone}>{verdict.text}</Chip> {affected.statement}
      </p>
      <ol className={styles["questions"]}>
        {affected.answers.map((answer) => (
          <li key={answer.id}>
            <div>
              <Chip tone={REPLIES[answer.answer].tone}>{REPLIES[answer.answer].text}</Chip>
            </div>
            <div>
              <h3>{answer.question}</h3>
              <p>
                <Prose text={answer.statement} />
              </p>
              {answer.missing.length > 0 && <p className={styles["dim"]}>Needs {answer.missing.join(", ")}.</p>}
            </div>
          </li>
        ))}
      </ol>
    </>
  );
}
