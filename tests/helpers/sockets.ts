import { connect, type Socket } from "node:net";
import { Buffer } from "node:buffer";
import { ChunkedDecoder } from "../../lib/http/chunked.ts";
import { until } from "./until.ts";

/** What came in one read, and when (performance.now()). */
export interface Arrival {
  at: number;
  bytes: Uint8Array;
}

/**
 * A TCP connection to 127.0.0.1 that says exactly what it is told and keeps each read apart. Close it with `using`.
 *
 * Built on node:net, for `Deno.Conn.close()` cannot send a plain RST.
 */
export class RawClient implements Disposable {
  readonly arrivals: Arrival[] = [];
  readonly #socket: Socket;
  #ended = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (bytes: Uint8Array) => {
      this.arrivals.push({ at: performance.now(), bytes: new Uint8Array(bytes) });
    });
    const gone = () => this.#ended = true;
    socket.on("end", gone).on("close", gone).on("error", gone);
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    return new RawClient(socket);
  }

  /** Writes text (as UTF-8) or bytes; false when the peer cannot take more at the moment. */
  send(data: string | Uint8Array): boolean {
    return this.#socket.writable && this.#socket.write(typeof data === "string" ? Buffer.from(data) : data);
  }

  /** A GET, or a POST when there is a body (an object as JSON). */
  request(path: string, { headers = {}, body, method }: RequestParts = {}): void {
    this.send(requestText(path, { headers, body, method }));
  }

  /** The peer has closed, or reset, the connection. */
  get ended(): boolean {
    return this.#ended;
  }

  /** All that came, head and framing included. */
  get text(): string {
    return new TextDecoder().decode(Buffer.concat(this.arrivals.map(({ bytes }) => bytes)));
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.text)?.[1]);
  }

  /** The head of the response, its blank line included; "" while it is not whole. */
  get head(): string {
    const end = this.text.indexOf("\r\n\r\n");
    return end < 0 ? "" : this.text.slice(0, end + 4);
  }

  /** The payload of a chunked response so far, and whether its terminator came. */
  get body(): { text: string; terminated: boolean } {
    const all = Buffer.concat(this.arrivals.map(({ bytes }) => bytes));
    const head = all.indexOf("\r\n\r\n");
    if (head < 0) return { text: "", terminated: false };
    const chunks = new ChunkedDecoder();
    const payload = chunks.push(new Uint8Array(all.subarray(head + 4)));
    return { text: new TextDecoder().decode(payload), terminated: chunks.done };
  }

  /** How many events of `/stream` with a token have come. */
  get tokens(): number {
    return this.text.split('data: {"token":').length - 1;
  }

  async untilTokens(count: number, withinMs = 5000): Promise<void> {
    await until(`${count} tokens, came ${this.tokens}`, () => this.tokens >= count, { withinMs, everyMs: 1 });
  }

  async untilEnded(withinMs = 5000): Promise<void> {
    await until("the end of the connection", () => this.#ended, { withinMs });
  }

  /** Leaves with a FIN: half-closes, so that unread data cannot turn it into an RST. */
  fin(): void {
    this.#socket.end();
  }

  /** Leaves with an RST. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

export interface RequestParts {
  method?: string | undefined;
  headers?: Record<string, string>;
  body?: unknown;
}

/** A request as it goes over the wire. */
export function requestText(path: string, { method, headers = {}, body }: RequestParts = {}): string {
  const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const all: Record<string, string> = { Host: "127.0.0.1", ...headers };
  if (body !== undefined) {
    all["Content-Type"] ??= "application/json";
    all["Content-Length"] ??= String(new TextEncoder().encode(text).length);
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `${method ?? (body === undefined ? "GET" : "POST")} ${path} HTTP/1.1\r\n${lines}\r\n${text}`;
}

/** The data lines of a body of events; each with what comes after `data: `. */
export function dataLines(body: string): string[] {
  return body.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
}

/** The text that a body of `/stream` carries. */
export function joined(body: string): string {
  return dataLines(body).filter((data) => data.startsWith('{"token":'))
    .map((data) => JSON.parse(data).token).join("");
}
