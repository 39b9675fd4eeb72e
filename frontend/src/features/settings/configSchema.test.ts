import { configFields, configOf } from "./configSchema";

describe("channel forms from a JSON schema", () => {
  const schema = {
    required: ["url"],
    properties: {
      url: { type: "string", description: "where to" },
      bot_token: { anyOf: [{ type: "string", format: "password", writeOnly: true }, { type: "null" }], default: null },
      api_url: { type: "string", default: "https://slack.com/api", advanced: true },
      headers: { type: "string", multiline: true },
    },
  };

  it("finds labels, hints, secrets, and defaults", () => {
    expect(configFields(schema)).toEqual([
      { name: "url", label: "URL", hint: "where to", secret: false, required: true, initial: "", multiline: false, advanced: false },
      { name: "bot_token", label: "Bot token", hint: null, secret: true, required: false, initial: "", multiline: false, advanced: false },
      { name: "api_url", label: "API URL", hint: null, secret: false, required: false, initial: "https://slack.com/api", multiline: false, advanced: true },
      { name: "headers", label: "Headers", hint: null, secret: false, required: false, initial: "", multiline: true, advanced: false },
    ]);
    expect(configFields({})).toEqual([]);
  });

  it("leaves out empty fields", () => {
    expect(configOf({ url: "https://x", bot_token: " " })).toEqual({ url: "https://x" });
  });
});
