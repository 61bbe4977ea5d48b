import type { MiddlewareHandler } from "hono";
import type { Env } from "./deps.ts";

/** What an id from outside may be made of: it goes into headers and logs, so nothing that could end a line. */
const SAFE_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** Gives each request an id, the client's own where that is safe to repeat, and answers with it. */
export const requestId: MiddlewareHandler<Env> = async (c, next) => {
  const came = c.req.raw.headers.get("x-request-id");
  const clientId = came !== null && SAFE_ID.test(came) ? came : "";
  c.set("clientId", clientId);
  c.set("requestId", clientId || crypto.randomUUID());
  await next();
  c.res.headers.set("X-Request-Id", c.get("requestId"));
};
