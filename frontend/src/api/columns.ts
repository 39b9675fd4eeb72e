/** Documents with integer columns as bytes, as written and specified by backend/jitterscope/kit/columns.py. */

const MEDIA_TYPE = "application/vnd.jitterscope.columns";

/** Added to a request for such a document; unpack() decodes the response. */
export const inColumns = { headers: { Accept: MEDIA_TYPE }, parseAs: "arrayBuffer" } as const;

/** The API schema's document, with typed arrays in place of integer lists. */
export type Packed<T> = T extends number[] ? ArrayLike<number> : T extends readonly (infer One)[] ? Packed<One>[] : T extends object ? { [Key in keyof T]: Packed<T[Key]> } : T;

type Described = readonly [count: number, width: number, base: number, running: boolean];

export function unpack(bytes: ArrayBuffer): unknown {
  const headBytes = new DataView(bytes).getUint32(0, true);
  const head: unknown = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, headBytes)));
  const planes = new Uint8Array(bytes, 4 + headBytes);
  let at = 0;

  const walk = (part: unknown): unknown => {
    if (typeof part !== "object" || part === null) return part;
    // Lists of numbers and strings contain no columns, and they are long.
    if (Array.isArray(part)) return typeof part[0] === "object" && !Array.isArray(part[0]) ? part.map(walk) : part;
    const fields = part as Record<string, unknown>;
    const described = fields["column"] as Described | undefined;
    if (described !== undefined) {
      const size = described[0] * described[1];
      at += size;
      return numbersOf(planes.subarray(at - size, at), described);
    }
    for (const name of Object.keys(fields)) fields[name] = walk(fields[name]);
    return fields;
  };
  return walk(head);
}

/** Numbers below 2^53, which covers times in µs. */
function numbersOf(planes: Uint8Array, [count, width, base, running]: Described): Float64Array {
  const values = new Float64Array(count);
  for (let plane = width - 1; plane >= 0; plane -= 1) {
    const from = plane * count;
    for (let i = 0; i < count; i += 1) values[i] = (values[i] as number) * 256 + (planes[from + i] as number);
  }
  let last = base;
  for (let i = 0; i < count; i += 1) {
    const coded = values[i] as number;
    const step = running && coded % 2 === 1 ? -(coded + 1) / 2 : coded / 2;
    last += step;
    values[i] = running ? last : base + coded;
  }
  return values;
}
