import { withHead } from "../header_text.ts";
import { responseHead } from "./response_head.ts";

/** What a request can be refused with. */
type RefusalStatus = 400 | 408 | 414 | 431 | 501 | 505;

/**
 * A request that no handler sees, because what it says cannot be trusted or is not supported; or the end of a body that
 * breaks off for a handler, because its chunks are broken.
 */
export class Refusal extends Error {
  override name = "Refusal";
  readonly status: RefusalStatus;

  constructor(status: RefusalStatus, message: string) {
    super(message);
    this.status = status;
  }

  /** The answer. It ends the connection: where the next request would begin is not known. */
  bytes(): Uint8Array {
    const code = this.status === 408 ? "timeout" : "invalid_request";
    const error = { code, message: `The request: ${this.message}.`, param: null };
    const body = new TextEncoder().encode(JSON.stringify({ error }));
    const response = new Response(null, {
      status: this.status,
      headers: { "Content-Type": "application/json" },
    });
    return withHead(responseHead(response, body.length, true), body);
  }
}

/** Those that something behind this server may have. */
const METHODS = "GET, HEAD, POST, OPTIONS";

/** The answer to `OPTIONS *`, which asks what the server can do, whatever the path (RFC 9110, 9.3.7). */
export function aboutServer(): Response {
  return new Response(null, { status: 204, headers: { Allow: METHODS } });
}
