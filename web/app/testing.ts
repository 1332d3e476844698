// What every test of a component has: a page of its own, taken away afterwards.

import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

// Only a bug takes so long, on a slow machine too.
configure({ asyncUtilTimeout: 60_000 });

afterEach(cleanup);
