import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";

import { channelKindsQuery, channelsQuery } from "@/api/settings";
import { Section } from "@/ui/Section";
import { Async } from "@/widgets/Async";
import { useRefusal } from "@/widgets/useRefusal";

import { ChannelRow } from "./ChannelRow";
import { NewChannel } from "./NewChannel";
import styles from "./Settings.module.css";

export function Channels(): ReactElement {
  const channels = useQuery(channelsQuery());
  const kinds = useQuery(channelKindsQuery());
  const refusal = useRefusal("channels:write");
  return (
    <>
      <Section title="Notification channels" note="Each change of an incident is sent to every matching channel. A delivery can arrive twice if its response is lost.">
        {refusal !== null && <p className={styles["dim"]}>{refusal}</p>}
        <Async query={channels} label="Loading channels">
          {(all) =>
            all.length === 0 ? (
              <p className={styles["dim"]}>No channels yet. {refusal === null && "Add one below."}</p>
            ) : (
              <ul>
                {all.map((channel) => (
                  <ChannelRow key={channel.id} channel={channel} kind={kinds.data?.find((one) => one.kind === channel.kind)} refusal={refusal} />
                ))}
              </ul>
            )
          }
        </Async>
      </Section>
      {kinds.data !== undefined && <NewChannel kinds={kinds.data} refusal={refusal} />}
    </>
  );
}
