import "@testing-library/jest-dom/vitest";

import { configure } from "@testing-library/react";

// As with the tests themselves (vite.config.ts): what waits for a CPU is not missing.
configure({ asyncUtilTimeout: 120_000 });
