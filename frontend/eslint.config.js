import js from "@eslint/js";
import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import globals from "globals";
import { readdirSync } from "node:fs";
import tseslint from "typescript-eslint";

// lib ← api; lib ← ui, charts ← widgets ← features ← app. A feature never imports another feature.
const layers = {
  lib: [],
  api: ["lib"],
  ui: ["lib"],
  charts: ["lib", "ui"],
  widgets: ["lib", "api", "ui", "charts"],
  features: ["lib", "api", "ui", "charts", "widgets"],
};
const everyLayer = [...Object.keys(layers), "app"];

const noRelativeParents = { group: ["../*"], message: "Import through @/…, so that the layer is visible." };

const layerRule = (layer, allowed, self) => {
  const forbidden = everyLayer.filter((other) => other !== layer && !allowed.includes(other));
  const patterns = [noRelativeParents];
  if (forbidden.length > 0) {
    patterns.push({
      group: forbidden.flatMap((other) => [`@/${other}`, `@/${other}/**`]),
      message: `${layer} may import only: ${[layer, ...allowed].join(", ")}.`,
    });
  }
  patterns.push(...self);
  return ["error", { patterns }];
};

const features = readdirSync(new URL("./src/features", import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

export default tseslint.config(
  { ignores: ["dist", "node_modules", "public", "**/*.gen.ts"] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  jsxA11y.flatConfigs.strict,
  {
    languageOptions: {
      globals: globals.browser,
      // A service for editors (projectService) would read each file again.
      parserOptions: { project: ["tsconfig.app.json", "tsconfig.node.json"], tsconfigRootDir: import.meta.dirname },
    },
  },
  {
    files: ["src/**/*.{ts,tsx}"],
    plugins: { "react-hooks": reactHooks },
    rules: {
      ...reactHooks.configs.recommended.rules,
      "react-hooks/exhaustive-deps": "error",
      "max-lines": ["error", { max: 300 }],
      "no-restricted-globals": ["error", { name: "fetch", message: "Use @/api/client: it adds the CSRF header and handles 401." }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/explicit-module-boundary-types": "error",
      // Comparing every assigned type with every enum and class took a fifth of the time; without enums, and with hardly a
      // class, there is nothing to find.
      "no-restricted-syntax": ["error", { selector: "TSEnumDeclaration", message: "Use a union of strings." }],
      "@typescript-eslint/no-unsafe-enum-assignment": "off",
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      "@typescript-eslint/consistent-type-imports": "error",
      // TanStack Router's redirect() and notFound() are thrown by design.
      "@typescript-eslint/only-throw-error": ["error", { allow: [{ from: "package", package: "@tanstack/router-core", name: ["Redirect", "NotFoundError"] }] }],
    },
  },
  ...Object.entries(layers)
    .filter(([layer]) => layer !== "features")
    .map(([layer, allowed]) => ({
      files: [`src/${layer}/**/*.{ts,tsx}`],
      rules: { "no-restricted-imports": layerRule(layer, allowed, []) },
    })),
  ...features.map((feature) => ({
    files: [`src/features/${feature}/**/*.{ts,tsx}`],
    rules: {
      "no-restricted-imports": layerRule("features", layers.features, [
        {
          group: features.filter((other) => other !== feature).map((other) => `@/features/${other}/**`),
          message: "A feature never imports another feature: move what both need to widgets.",
        },
      ]),
    },
  })),
  { files: ["src/**/*.test.{ts,tsx}", "src/test/**"], rules: { "@typescript-eslint/no-non-null-assertion": "off" } },
  { files: ["eslint.config.js"], ...tseslint.configs.disableTypeChecked },
);
