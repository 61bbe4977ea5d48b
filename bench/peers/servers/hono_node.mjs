import { serve } from "@hono/node-server";
import { readPort } from "./common.mjs";
import { app } from "./hono_app.mjs";

serve({ fetch: app.fetch, port: readPort(), hostname: "127.0.0.1" });
