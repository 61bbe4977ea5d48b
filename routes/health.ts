import { Hono } from "hono";
import { shuttingDown } from "../lib/errors.ts";
import type { Deps, Env } from "./deps.ts";
import { onlyMethods } from "./errors.ts";

/** `GET /health`: 200 while the service takes requests, 503 from the first SIGTERM on. */
export function healthRoutes({ engine, ledger, draining }: Deps): Hono<Env> {
  return new Hono<Env>()
    .get("/health", (c) => {
      if (draining()) throw shuttingDown();
      return c.json({ status: "ok", engine: engine.name, running: ledger.running });
    })
    .all("/health", onlyMethods("GET"));
}
