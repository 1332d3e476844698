// The reader of a shared page: scripts that each stand in the page itself, and one style. `--mode` names the script.

import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const ENTRIES: Readonly<Record<string, string>> = { reader: "./reader/main.tsx", formulas: "./reader/formulas.ts", colours: "./reader/colours.ts" };

export default defineConfig(({ mode }) => ({
  plugins: [
    react(),
    {
      name: "without-workers",
      enforce: "pre",
      resolveId: (source, importer) => source === "./queues" && importer?.includes("/conversation/markdown/") ? here("./reader/queues.ts") : null,
    },
  ],
  define: { "process.env.NODE_ENV": '"production"' },
  resolve: { alias: { "@chat-gateway/client": here("./client/src/index.ts") } },
  publicDir: false,
  build: {
    lib: { entry: here(ENTRIES[mode] ?? ""), formats: ["iife"], name: "reader", fileName: () => `${mode}.js`, cssFileName: mode },
    assetsInlineLimit: 0,
    emptyOutDir: false,
    minify: true,
    reportCompressedSize: false,
    target: "es2022",
  },
}));
