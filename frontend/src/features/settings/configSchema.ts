/** The form fields of a channel kind, from the JSON schema of its configuration: a new kind needs no change here. Pure. */

export interface ConfigField {
  readonly name: string;
  readonly label: string;
  readonly hint: string | null;
  readonly secret: boolean;
  readonly required: boolean;
  readonly initial: string;
  readonly multiline: boolean;
  /** Rarely needed. */
  readonly advanced: boolean;
}

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown): string | null => (typeof value === "string" ? value : null);

export function configFields(schema: Json): ConfigField[] {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  return Object.entries(properties)
    .filter((entry): entry is [string, Json] => isObject(entry[1]))
    .map(([name, property]) => ({
      name,
      label: label(name),
      hint: text(property["description"]),
      secret: alternatives(property).some((one) => one["writeOnly"] === true || one["format"] === "password"),
      required: required.includes(name),
      initial: text(property["default"]) ?? "",
      multiline: property["multiline"] === true,
      advanced: property["advanced"] === true,
    }));
}

function alternatives(property: Json): Json[] {
  const anyOf = Array.isArray(property["anyOf"]) ? (property["anyOf"] as unknown[]).filter(isObject) : [];
  return [property, ...anyOf];
}

function label(name: string): string {
  const words = name.replaceAll("_", " ").replace(/\b(url|id|api)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The entered values; empty fields are left out, so that the server's defaults apply. */
export function configOf(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ""));
}
