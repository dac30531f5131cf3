// @octokit/webhooks on node:http, with one listener that does nothing.
import { createServer } from "node:http";
import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";

const webhooks = new Webhooks({ secret: process.env.WEBHOOK_SECRET });
webhooks.on("pull_request", async () => {});
createServer(createNodeMiddleware(webhooks, { path: "/webhooks/github" })).listen(Number(process.env.PORT), "127.0.0.1");
