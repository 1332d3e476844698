/// <reference types="vitest/config" />
import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const GATEWAY = process.env.GATEWAY_URL ?? "http://127.0.0.1:8000";

// `changeOrigin`: the gateway refuses pages of other origins, and the development server is one.
const proxied = { target: GATEWAY, changeOrigin: true, headers: { origin: new URL(GATEWAY).origin } };

export default defineConfig({
  base: "./", // the page works below any prefix
  plugins: [react()],
  resolve: {
    alias: {
      "@chat-gateway/client": here("./client/src/index.ts"),
      // What it has for browsers asks the document, and Markdown is parsed in a worker, which has none.
      "decode-named-character-reference": here("./node_modules/decode-named-character-reference/index.js"),
    },
  },
  build: {
    outDir: here("../gateway/ui"),
    emptyOutDir: true,
    assetsDir: "assets",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    target: "es2022",
  },
  server: { host: "127.0.0.1", proxy: { "/api": proxied, "/healthz": proxied } },
  test: {
    environment: "happy-dom",
    include: ["app/**/*.test.{ts,tsx}", "client/**/*.test.ts"],
    setupFiles: ["./app/testing.ts"],
    restoreMocks: true,
    testTimeout: 120_000, // which only a bug reaches
    retry: Number(process.env.TEST_RERUNS ?? 0),
  },
});
