import type { Context } from "hono";
import type { z } from "zod";
import { quote, TapError } from "../lib/errors.ts";
import type { Settings } from "../lib/config.ts";
import { bodyText, tooLarge } from "./body_text.ts";
import type { Env } from "./deps.ts";
import { valid } from "./valid.ts";

/**
 * A request's JSON body as `schema` makes it, read within bounds before anything looks at it: its type and codings, its
 * size while it still arrives, and the time it takes.
 *
 * @throws {TapError} `unsupported_media_type`, `too_large`, `timeout`; `invalid_request`, see `valid`
 */
export async function jsonBody<Schema extends z.ZodType>(
  c: Context<Env>,
  { maxBodyBytes, bodyTimeout }: Settings,
  schema: Schema,
): Promise<z.output<Schema>> {
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
  return valid(schema, parsed(text));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new TapError("invalid_request", "The request body is not valid JSON.");
  }
}
