import { configFields, configOf } from "./configSchema";

describe("channel forms from a JSON schema", () => {
  const schema = {
    required: ["url"],
    properties: {
      url: { type: "string", description: "where to" },
      bot_token: { anyOf: [{ type: "string", format: "password", writeOnly: true }, { type: "null" }], default: null },
      api_url: { type: "string", default: "https://slack.com/api" },
    },
  };

  it("finds labels, hints, secrets and defaults", () => {
    expect(configFields(schema)).toEqual([
      { name: "url", label: "URL", hint: "where to", secret: false, required: true, initial: "" },
      { name: "bot_token", label: "Bot token", hint: null, secret: true, required: false, initial: "" },
      { name: "api_url", label: "API URL", hint: null, secret: false, required: false, initial: "https://slack.com/api" },
    ]);
    expect(configFields({})).toEqual([]);
  });

  it("leaves out what was left empty", () => {
    expect(configOf({ url: "https://x", bot_token: " " })).toEqual({ url: "https://x" });
  });
});
