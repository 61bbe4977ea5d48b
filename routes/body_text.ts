import { TapError } from "../lib/errors.ts";
import { settled } from "../lib/event_loop.ts";
import { Refusal } from "../lib/http/server/own_answer.ts";

/**
 * A request's body as text.
 *
 * @param limit bytes it may have
 * @param timeoutMs how long it may take from where something of it is waited for
 * @throws {TapError} `too_large` or `timeout`; `invalid_request` for a text that is not UTF-8, and a body that breaks off
 */
export async function bodyText(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
  timeoutMs: number,
): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  let late = false;
  const onLate = () => {
    late = true;
    // Not cancel(), which would end a waiting read like the body's own end.
    reader.releaseLock();
  };
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
  try {
    // Most bodies are there with their heads, in one part: they need no timer, and no decoder of their own (5 µs each).
    let first: Uint8Array | undefined;
    let decoder: TextDecoder | undefined;
    let text = "";
    for (let size = 0;;) {
      const reading = read();
      const ready = await settled(reading);
      if (ready === undefined) timer ??= setTimeout(onLate, timeoutMs);
      if (first !== undefined && !ready?.done) {
        // The rest may be long in coming: what is wrong with this is told before.
        decoder = newDecoder();
        text = decode(decoder, first, "part");
        first = undefined;
      }
      const { done, value } = await reading;
      if (done) return first === undefined ? text + decode(decoder ?? whole) : decode(whole, first);
      size += value.length;
      if (size > limit) throw tooLarge(limit);
      if (decoder === undefined) first = value;
      else text += decode(decoder, value, "part");
    }
  } finally {
    clearTimeout(timer);
    // What a refusal leaves of it nobody reads: the server is to know that before it answers.
    reader.cancel().catch(() => {});
  }
}

export function tooLarge(limit: number): TapError {
  return new TapError("too_large", `The request body is larger than ${limit} bytes.`);
}

const newDecoder = () => new TextDecoder("utf-8", { fatal: true });

/** For what is there whole. */
const whole = newDecoder();

/** What `bytes` add to a text of which more is to come, or its end. */
function decode(decoder: TextDecoder, bytes?: Uint8Array, what: "part" | "end" = "end"): string {
  try {
    return decoder.decode(bytes, { stream: what === "part" });
  } catch {
    throw new TapError("invalid_request", "The request body is not valid UTF-8.");
  }
}
