import type { MiddlewareHandler } from "hono";
import { quote, TapError } from "../lib/errors.ts";
import { settled } from "../lib/event_loop.ts";
import { Refusal } from "../lib/http/server/own_answer.ts";
import type { Settings } from "../lib/config.ts";
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
    const text = await readText(c.req.raw.body, maxBodyBytes, bodyTimeout);
    // hono types the cache by what it holds, and keeps promises in it.
    c.req.bodyCache.text = Promise.resolve(text) as unknown as string;
    await next();
  };
}

function tooLarge(limit: number): TapError {
  return new TapError("too_large", `The request body is larger than ${limit} bytes.`);
}

async function readText(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
  timeoutMs: number,
): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  let late = false;
  const read = () =>
    reader.read().catch((error) => {
      if (late) throw new TapError("timeout", `The request body did not arrive within ${timeoutMs} ms.`);
      if (error instanceof Refusal) {
        throw new TapError("invalid_request", `The request body's chunks are broken: ${error.message}.`);
      }
      // Only the connection can fail here: the client has gone.
      throw new TapError("invalid_request", "The request body broke off before its end.");
    });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onLate = () => {
    late = true;
    // Not cancel(), which would end a waiting read like the body's own end.
    reader.releaseLock();
  };
  try {
    // Most bodies are there with their heads, in one part: they need no timer, and no decoder of their own (5 µs each).
    let only: Uint8Array | undefined;
    let decoder: TextDecoder | undefined;
    let text = "";
    for (let size = 0;;) {
      const reading = read();
      const ready = await settled(reading);
      if (ready === undefined) timer ??= setTimeout(onLate, timeoutMs);
      if (only !== undefined && !ready?.done) {
        // The rest may be long in coming: what is wrong with this is told before.
        decoder = strict();
        text = decode(decoder, only);
        only = undefined;
      }
      const { done, value } = await reading;
      if (done) return only !== undefined ? decode(utf8, only) : text + decode(decoder ?? utf8);
      size += value.length;
      if (size > limit) throw tooLarge(limit);
      if (decoder === undefined) only = value;
      else text += decode(decoder, value);
    }
  } finally {
    clearTimeout(timer);
    // What a refusal leaves of it nobody reads: the server is to know that before it answers.
    reader.cancel().catch(() => {});
  }
}

const strict = () => new TextDecoder("utf-8", { fatal: true });

/** For what is whole. */
const utf8 = strict();

/** The next part of a text, or all of it by `utf8`; without `bytes`, what is left at its end. */
function decode(decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined && decoder !== utf8 });
  } catch {
    throw new TapError("invalid_request", "The request body is not valid UTF-8.");
  }
}
