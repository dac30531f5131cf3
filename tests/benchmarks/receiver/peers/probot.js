// Probot's own server with one app that listens to pull requests and does nothing; quiet, as in production.
import { generateKeyPairSync } from "node:crypto";
import { pino } from "pino";
import { Probot, Server } from "probot";

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
});
const log = pino({ level: "warn" });
const server = new Server({
  Probot: Probot.defaults({ appId: 1, privateKey, secret: process.env.WEBHOOK_SECRET, log }),
  host: "127.0.0.1",
  port: Number(process.env.PORT),
  webhookPath: "/webhooks/github",
  log,
});
await server.load((app) => {
  app.on("pull_request", async () => {});
});
await server.start();
