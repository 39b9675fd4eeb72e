import { useRef, useState, type DragEvent, type ReactElement } from "react";

import { ActionButton } from "@/ui/ActionButton";
import { useToast } from "@/ui/Toast";

import styles from "./Evidence.module.css";

export interface DropZoneProps {
  /** Why the user cannot add files; null: allowed. */
  refusal: string | null;
  onFiles: (files: readonly File[]) => void;
}

/** Files are dropped here or chosen with its button, which the keyboard can reach. */
export function DropZone({ refusal, onFiles }: DropZoneProps): ReactElement {
  const toast = useToast();
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  // Moving over a child briefly leaves the parent.
  const depth = useRef(0);

  const enter = (event: DragEvent): void => {
    event.preventDefault();
    depth.current += 1;
    setOver(refusal === null);
  };
  const leave = (): void => {
    depth.current -= 1;
    if (depth.current <= 0) setOver(false);
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    depth.current = 0;
    setOver(false);
    const files = [...event.dataTransfer.files];
    if (refusal !== null) toast({ text: refusal });
    else if (files.length > 0) onFiles(files);
  };
  return (
    // Dropping is for the pointer; the button is for the keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <div
      className={styles["drop"]}
      data-over={over || undefined}
      role="group"
      aria-label="Add evidence files"
      onDragEnter={enter}
      onDragOver={(event) => event.preventDefault()}
      onDragLeave={leave}
      onDrop={drop}
    >
      <p className={styles["dropTitle"]}>{over ? "Drop to add" : "Drop files here"}</p>
      <ActionButton kind="primary" refusal={refusal} onClick={() => input.current?.click()}>
        Choose files
      </ActionButton>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Evidence files"
        onChange={(event) => {
          const files = [...(event.target.files ?? [])];
          event.target.value = ""; // allows choosing the same file again
          if (files.length > 0) onFiles(files);
        }}
      />
      {refusal !== null && <p>{refusal}</p>}
      <p className={styles["kinds"]}>
        Packet captures (pcap, pcapng) · dnsmasq and CoreDNS logs · metrics pages (<code>curl …/metrics</code>) · <code>cpu.stat</code> ·{" "}
        <code>top -b -d 0.1</code> · process counts. Also gzipped. The type is detected from the content.
      </p>
    </div>
  );
}
