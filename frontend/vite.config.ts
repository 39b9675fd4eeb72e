import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

import { light } from "./light.ts";

// In development the API runs elsewhere: JITTERSCOPE_API_URL=http://127.0.0.1:PORT npm run dev
const api = process.env["JITTERSCOPE_API_URL"] ?? "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [react(), light()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  server: { proxy: { "/api": { target: api, changeOrigin: false }, "/readyz": { target: api, changeOrigin: false } } },
  build: {
    target: "es2022",
    sourcemap: false,
    // Pages split by route; what they share and what changes rarely are chunks of their own.
    rolldownOptions: {
      output: {
        codeSplitting: {
          // A group also takes what it imports: what everybody needs is named before the charts.
          groups: [
            { name: "react", test: /node_modules\/(react|react-dom|scheduler)\//, priority: 4 },
            // Of libraries that only some pages and dialogs need nothing: they go where these go.
            { name: "vendor", test: /node_modules\/(@tanstack|openapi-fetch|clsx|use-sync-external-store)\//, priority: 3 },
            { name: "base", test: /src\/(lib|api|ui(?!\/(Dialog|menuParts)))\//, priority: 2 },
            { name: "charts", test: /src\/charts\/timeline\/|src\/widgets\/timeline\//, priority: 1 },
          ],
        },
      },
    },
  },
  test: {
    // A page for components alone: it takes longer to make than most other tests to run.
    projects: [
      { extends: true, test: { name: "logic", include: ["src/**/*.test.ts"], environment: "node" } },
      { extends: true, test: { name: "components", include: ["src/**/*.test.tsx"], environment: "jsdom" } },
    ],
    // How long a test takes says nothing where others go first (scripts/give_way.sh): this only ends one that hangs.
    testTimeout: 1_500_000,
    globals: true,
    setupFiles: ["./src/test/setup.ts"],
    css: { modules: { classNameStrategy: "non-scoped" } },
    env: { TZ: "UTC" },
  },
});
