import type { BodyReader } from "./body_reader.ts";
import type { Inbox } from "./inbox.ts";
import type { RequestBody } from "./request_body.ts";

/** Of a request's body that the handler did not read: more is not read to keep a connection. */
const MAX_UNREAD = 262_144;

/** How long an answer waits for the end of a body in chunks that nobody reads: one sent whole has come by then. */
const PATIENCE_MS = 50;

/**
 * Whether the next request will be found behind what `response` leaves of this request's body. It is to be known before
 * the response is written, which has to say that the connection ends where it is not (RFC 9112, 9.6).
 */
export async function endIsInSight(
  inbox: Inbox,
  reader: BodyReader,
  body: RequestBody,
  response: Response,
): Promise<boolean> {
  // A client that still waits to be asked for its body may send it or not.
  if (body.expected || reader.missing > MAX_UNREAD) return false;
  // That says that the rest is no longer waited for (RFC 9110, 15.5.9).
  if (response.status === 408) return false;
  if (!reader.chunked || body.readFor(response)) return true;
  body.release();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    inbox.wake();
  }, PATIENCE_MS);
  const found = await passOver(inbox, reader, () => late);
  clearTimeout(timer);
  return found;
}

/** Drops the rest of a body as it arrives; false when that is too much, broken, or not there before it is `late`. */
export async function passOver(inbox: Inbox, reader: BodyReader, late = () => false): Promise<boolean> {
  let size = 0;
  try {
    while (!reader.done) {
      size += reader.take().length;
      if (reader.done) break;
      if (inbox.ended || late() || size + reader.missing > MAX_UNREAD) return false;
      await inbox.more();
    }
    return true;
  } catch {
    return false;
  }
}
