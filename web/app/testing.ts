// What every test of a component has: a page of its own, taken away afterwards.

import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";

afterEach(cleanup);
