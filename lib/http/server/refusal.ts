import { httpDate } from "./http_date.ts";
import { REFUSAL_REASONS, type RefusalStatus } from "./reasons.ts";

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

  /** The answer, ASCII only. It ends the connection: where the next request would begin is not known. */
  bytes(): Uint8Array {
    const code = this.status === 408 ? "timeout" : "invalid_request";
    const error = { code, message: `The request: ${this.message}.`, param: null };
    const body = JSON.stringify({ error });
    const head = [
      `HTTP/1.1 ${this.status} ${REFUSAL_REASONS[this.status]}`,
      "content-type: application/json",
      `content-length: ${body.length}`,
      "connection: close",
      `date: ${httpDate()}`,
    ];
    return new TextEncoder().encode(`${head.join("\r\n")}\r\n\r\n${body}`);
  }
}
