/** Stops of a slider from `low` to `high` at equal ratios, each rounded to two digits. */
export function stopsBetween(low: number, high: number, wanted: readonly number[]): number[] {
  const stops = new Set(wanted);
  const count = 48;
  for (let step = 0; step <= count; step += 1) {
    const value = low * (high / low) ** (step / count);
    const digit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
    stops.add(Math.round(value / digit) * digit);
  }
  return [...stops].filter((stop) => stop >= low && stop <= high).sort((a, b) => a - b);
}
