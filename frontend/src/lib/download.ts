/** Downloads of files created in the browser. */

/** Hands the browser a file to save. */
export function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // A moment later, because some browsers read it only after this task.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A name that is valid on every file system: "coredns 2026-11-24T19-00-00Z.csv". */
export function fileName(parts: readonly string[], extension: string): string {
  const name = parts.join(" ").replaceAll(/[^\p{L}\p{N} ._-]+/gu, "-").replaceAll(/\s+/g, " ").trim();
  return `${name.slice(0, 120)}.${extension}`;
}
