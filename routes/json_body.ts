import type { MiddlewareHandler } from "hono";
import { quote, TapError } from "../lib/errors.ts";
import type { Settings } from "../lib/config.ts";
import { bodyText, tooLarge } from "./body_text.ts";
import type { Env } from "./deps.ts";

/**
 * Reads a request's body within bounds before any validator sees it: its type and codings, its size while it still
 * arrives, and the time it takes. What it read is left where hono's `c.req.json()` finds it. Whether it is JSON is the
 * validator's to say (see `answerError`): a hostile nesting takes 20 ms to parse, which is enough once.
 */
export function jsonBody({ maxBodyBytes, bodyTimeout }: Settings): MiddlewareHandler<Env> {
  return async (c, next) => {
    const type = c.req.raw.headers.get("content-type");
    if (type === null || !/^application\/json\s*(;|$)/i.test(type)) {
      const came = type === null ? "none" : quote(type, 80);
      throw new TapError("unsupported_media_type", `Content-Type: wanted application/json, got ${came}.`);
    }
    // JSON is UTF-8 (RFC 8259, 8.1). Read as that, a text in another coding could pass as one that nobody wrote.
    if (/;\s*charset\s*=(?!\s*"?utf-?8"?\s*(;|$))/i.test(type)) {
      throw new TapError(
        "unsupported_media_type",
        `Content-Type: wanted JSON in UTF-8, got ${quote(type, 80)}.`,
      );
    }
    const coding = c.req.raw.headers.get("content-encoding") ?? "";
    if (!/^(identity)?$/i.test(coding)) {
      throw new TapError(
        "unsupported_media_type",
        `Content-Encoding: wanted none, got ${quote(coding)}.`,
      );
    }
    const length = Number(c.req.raw.headers.get("content-length"));
    if (length > maxBodyBytes) throw tooLarge(maxBodyBytes);
    const text = await bodyText(c.req.raw.body, maxBodyBytes, bodyTimeout);
    // hono types the cache by what it holds, and keeps promises in it.
    c.req.bodyCache.text = Promise.resolve(text) as unknown as string;
    await next();
  };
}
