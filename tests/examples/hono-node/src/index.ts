import { serve } from "@hono/node-server";
import { Hono } from "hono";

serve({ fetch: new Hono().fetch, port: 3000 });
