import { readPort } from "./common.mjs";
import { app } from "./hono_app.mjs";

Deno.serve({ port: readPort(), hostname: "127.0.0.1" }, app.fetch);
