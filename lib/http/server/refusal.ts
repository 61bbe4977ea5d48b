const REASONS: Record<number, string> = {
  400: "Bad Request",
  408: "Request Timeout",
  414: "URI Too Long",
  431: "Request Header Fields Too Large",
  501: "Not Implemented",
  505: "HTTP Version Not Supported",
};

/** A request that no handler sees, because what it says cannot be trusted or is not supported. */
export class Refusal extends Error {
  override name = "Refusal";
  readonly status: number;

  constructor(status: keyof typeof REASONS, message: string) {
    super(message);
    this.status = status;
  }

  /** The answer. It ends the connection: where the next request would begin is not known. */
  bytes(): Uint8Array {
    const line = `HTTP/1.1 ${this.status} ${REASONS[this.status]}\r\n`;
    return new TextEncoder().encode(`${line}content-length: 0\r\nconnection: close\r\n\r\n`);
  }
}
