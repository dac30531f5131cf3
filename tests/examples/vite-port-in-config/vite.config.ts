import { defineConfig } from "vite";

export default defineConfig({
  preview: { port: 9999 },
  server: { proxy: { "/api": { target: "http://localhost:8000" } }, port: 4400 },
});
