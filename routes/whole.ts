import type { Context } from "hono";
import { publicError } from "../lib/errors.ts";
import { encode } from "../lib/stream/sse.ts";
import type { Env } from "./deps.ts";

/** How long a client that leaves may go unnoticed, in milliseconds. */
export const UNWATCHED_MS = 100;

const HEADERS = { "Content-Type": "application/json" };

/**
 * A JSON reply that is long in coming, to a client that may leave meanwhile; `leave` is then called.
 *
 * Most replies are simply awaited: `work` itself ends when the request's signal aborts, and what it throws still has a
 * status. For a client that is unwatched (see `Env`) the head goes out after a tenth of a second with a body that is
 * still to come, which is watched again. What fails later can then no longer have a status: the connection is torn, so
 * that no client takes it for an answer.
 */
export async function wholeReply(
  c: Context<Env>,
  work: Promise<unknown>,
  leave: () => void,
): Promise<Response> {
  const json = work.then((value) => JSON.stringify(value));
  if (!c.get("unwatched")) return new Response(await json, { headers: HEADERS });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<undefined>((resolve) => timer = setTimeout(resolve, UNWATCHED_MS, undefined));
  try {
    const soon = await Promise.race([json, patience]);
    if (soon !== undefined) return new Response(soon, { headers: HEADERS });
  } finally {
    clearTimeout(timer);
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        controller.enqueue(encode(await json));
        controller.close();
      } catch (error) {
        // The runtime logs what a body breaks with; the generation's own line has told it already.
        const { message } = publicError(error);
        controller.error(Object.assign(new Error(message), { stack: message }));
      }
    },
    cancel: leave,
  });
  return new Response(body, { headers: HEADERS });
}
