import type { MiddlewareHandler } from "hono";
import { quote, TapError } from "../lib/errors.ts";
import type { Settings } from "../lib/config.ts";
import type { Env } from "./deps.ts";

/**
 * Reads a request's body within bounds before any validator sees it: its type, its size while it still arrives, the
 * time it takes and its encoding. What it read is left where hono's `c.req.json()` finds it. Whether it is JSON is the
 * validator's to say (see `answerError`): a hostile nesting takes 20 ms to parse, which is enough once.
 */
export function jsonBody({ maxBodyBytes, bodyTimeout }: Settings): MiddlewareHandler<Env> {
  return async (c, next) => {
    const type = c.req.raw.headers.get("content-type");
    if (type === null || !/^application\/json\s*(;|$)/i.test(type)) {
      const came = type === null ? "none" : quote(type, 80);
      throw new TapError("unsupported_media_type", `Content-Type: wanted application/json, got ${came}.`);
    }
    const length = Number(c.req.raw.headers.get("content-length"));
    if (length > maxBodyBytes) throw tooLarge(maxBodyBytes);
    const { text, apart } = await readText(c.req.raw.body, maxBodyBytes, bodyTimeout);
    c.set("unwatched", apart);
    // hono types the cache by what it holds, and keeps promises in it.
    c.req.bodyCache.text = Promise.resolve(text) as unknown as string;
    await next();
  };
}

function tooLarge(limit: number): TapError {
  return new TapError("too_large", `The request body is larger than ${limit} bytes.`);
}

/** The body's text, and whether any of it came in a later read of the socket than the head. */
async function readText(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
  timeoutMs: number,
): Promise<{ text: string; apart: boolean }> {
  if (body === null) return { text: "", apart: false };
  const reader = body.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    // Not cancel(): while a read waits, Deno 2.9 keeps its buffer of 64 KB for good.
    reader.releaseLock();
  }, timeoutMs);
  try {
    let text = "";
    let size = 0;
    let apart = false;
    for (;;) {
      const reading = reader.read().catch(() => {
        if (late) throw new TapError("timeout", `The request body did not arrive within ${timeoutMs} ms.`);
        // Only the connection can fail here: the client has gone, or its framing is broken.
        throw new TapError("invalid_request", "The request body broke off before its end.");
      });
      apart ||= !await settlesAtOnce(reading);
      const { done, value } = await reading;
      if (done) return { text: text + decode(decoder), apart };
      size += value.length;
      if (size > limit) {
        reader.cancel().catch(() => {});
        throw tooLarge(limit);
      }
      text += decode(decoder, value);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Whether `promise` settles without the event loop going round: what had already arrived takes 2 turns of microtasks. */
async function settlesAtOnce(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = () => settled = true;
  promise.then(settle, settle);
  for (let turn = 0; turn < 8 && !settled; turn++) await undefined;
  return settled;
}

function decode(decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch {
    throw new TapError("invalid_request", "The request body is not valid UTF-8.");
  }
}
