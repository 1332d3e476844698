// Everybody gets the same examples; other ones with FAST_CHECK_SEED=…. What waits has one bound, which only a bug reaches.

import fc from "fast-check";
import { vi } from "vitest";

fc.configureGlobal({ seed: Number(process.env.FAST_CHECK_SEED ?? 20261123) });
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });
