import type { Context } from "hono";
import { publicError } from "../lib/errors.ts";
import { encode } from "../lib/stream/sse.ts";
import { torn } from "../lib/stream/torn.ts";
import type { Env } from "./deps.ts";

/** How long a client that is not watched may leave unnoticed, in milliseconds. */
export const UNWATCHED_MS = 100;
/** The same for a client that seems to be watched, which a busy server can be wrong about. */
const SEEMINGLY_WATCHED_MS = 1000;

const HEADERS = { "Content-Type": "application/json" };

/**
 * A JSON reply that is long in coming, to a client that may leave meanwhile; `leave` is then called.
 *
 * A reply has its status as long as it is only awaited; but some clients are not seen to leave while it is (see
 * `unwatched` in `Env`). So after a time the head goes out with a body that is still to come, which is watched again.
 * What fails later can then no longer have a status: the connection is torn, so that no client takes it for an answer.
 */
export async function wholeReply(
  c: Context<Env>,
  work: Promise<unknown>,
  leave: () => void,
): Promise<Response> {
  const json = work.then((value) => JSON.stringify(value));
  const patienceMs = c.get("unwatched") ? UNWATCHED_MS : SEEMINGLY_WATCHED_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<undefined>((resolve) => timer = setTimeout(resolve, patienceMs, undefined));
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
        controller.error(torn(publicError(error)));
      }
    },
    cancel: leave,
  });
  return new Response(body, { headers: HEADERS });
}
