import { publicError } from "../lib/errors.ts";
import { encode } from "../lib/stream/sse.ts";

/** How long a reply may be only awaited before its head goes out, in milliseconds. */
const HEAD_AFTER_MS = 250;

/**
 * A JSON reply that is long in coming, to a client that may leave meanwhile; `leave` is then called.
 *
 * While a handler has not returned, Deno's server (2.9) does not see a client go whose body came in a read of its own,
 * as it does from many clients: nothing reads the socket until there is a response. So after a quarter of a second the
 * head goes out with a body that is still to come, which is watched again. What fails later can no longer have a
 * status: the connection is torn, so that no client takes it for an answer. What fails before is thrown.
 */
export async function wholeReply(work: Promise<unknown>, leave: () => void): Promise<Response> {
  const json = work.then((value) => JSON.stringify(value));
  const headers = { "Content-Type": "application/json" };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<undefined>((resolve) => timer = setTimeout(resolve, HEAD_AFTER_MS, undefined));
  try {
    const soon = await Promise.race([json, patience]);
    if (soon !== undefined) return new Response(soon, { headers });
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
  return new Response(body, { headers });
}
