/** The browser reads what the service writes: the fixture comes from the service's test. */

// eslint-disable-next-line no-restricted-imports -- shared with the test of the service
import text from "../../../tests/fixtures/columns/document.json?raw";

import { unpack } from "./columns";

const fixture = JSON.parse(text) as { document: unknown; packed: string };

const plain = (part: unknown): unknown => JSON.parse(JSON.stringify(part, (_, value: unknown) => (value instanceof Float64Array ? [...value] : value)));

describe("a document with columns", () => {
  const bytes = Uint8Array.from(atob(fixture.packed), (character) => character.charCodeAt(0));

  it("is the document that was written", () => {
    expect(plain(unpack(bytes.buffer))).toEqual(fixture.document);
  });

  it("has its integers as typed arrays", () => {
    const { answers } = unpack(bytes.buffer) as { answers: { t_us: unknown; names: unknown } };
    expect(answers.t_us).toBeInstanceOf(Float64Array);
    expect(answers.names).toEqual(["a. A", "b. A"]);
  });
});
