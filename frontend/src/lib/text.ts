/** Names as displayed in text. */

/** "coredns_proxy" → "Coredns proxy", "dns_server" → "DNS server"; metric names as titles. */
export function sentence(name: string): string {
  const words = name.replaceAll(/[_.]+/g, " ").trim();
  return words.replace(/^(cpu|dns|gc|http|psi|tcp)\b|^./, (start) => start.toUpperCase());
}

/** As written within a sentence: "Slow answers" → "slow answers", but "GC cycles" stays. */
export function inSentence(text: string): string {
  return /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** Keeps a figure and its unit on one line: "5 s", "100 ms", "44 %". */
export const unbroken = (text: string): string => text.replaceAll(/(\d) (?=(?:[%×]|(?:µs|ms|s|min|h|CPUs?|[KMG]iB)(?!\w)))/g, "$1\u00a0");
