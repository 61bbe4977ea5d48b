import { framing } from "../lib/http/framing.ts";
import { readHead, requestBytes } from "../lib/http/head.ts";
import { writeAll } from "../lib/http/socket.ts";

const READ_SIZE = 64 * 1024;

/**
 * One open HTTP/1.1 connection, for measuring.
 *
 * The runtime's fetch may connect, or wait for a connection, after it was called, so the moment of the write stays
 * unknown. Here the connection is open before the request, the request is one write made within `fetch`'s first
 * turn, and each read of the socket gives at most one piece of body: times taken around them are those of the wire.
 */
export class HttpConnection implements Disposable {
  #conn: Deno.Conn;
  #origin: URL;
  #buffer = new Uint8Array(READ_SIZE);
  #closed = false;

  private constructor(conn: Deno.Conn, origin: URL) {
    this.#conn = conn;
    this.#origin = origin;
  }

  /** Opens a connection to the origin of `url` (http or https); for https the handshake is done as well. */
  static async open(url: string | URL): Promise<HttpConnection> {
    const { protocol, hostname, port } = new URL(url);
    const address = {
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port) || (protocol === "https:" ? 443 : 80),
    };
    if (protocol === "http:") {
      const conn = await Deno.connect(address);
      conn.setNoDelay(true);
      return new HttpConnection(conn, new URL(url));
    }
    if (protocol !== "https:") throw new TypeError(`wanted an http or https URL, got ${url}`);
    const conn = await Deno.connectTls({ ...address, alpnProtocols: ["http/1.1"] });
    await conn.handshake();
    return new HttpConnection(conn, new URL(url));
  }

  /**
   * Sends a request on this connection and gives the response; for lib/client's `fetch` option. One request at a
   * time: the body must be read to its end before the next. Cancelling the body, or the signal, closes the connection.
   *
   * @throws when the connection breaks or what comes is not HTTP/1.1
   */
  fetch = async (
    url: string | URL,
    { method = "GET", headers, body, signal }: RequestInit = {},
  ): Promise<Response> => {
    const target = new URL(url);
    if (target.origin !== this.#origin.origin) {
      throw new TypeError(`this connection is to ${this.#origin.origin}, the request to ${target.origin}`);
    }
    if (body != null && typeof body !== "string") throw new TypeError("wanted a string as body");
    const request = requestBytes(method, target, new Headers(headers), body ?? undefined);
    const onAbort = () => this.close();
    signal?.addEventListener("abort", onAbort, { once: true });
    const settle = () => signal?.removeEventListener("abort", onAbort);
    try {
      signal?.throwIfAborted();
      await writeAll(this.#conn, request);
      const { status, headers: responseHeaders, rest } = await readHead(() => this.#read());
      const empty = method === "HEAD" || status === 204 || status === 304;
      const stream = empty ? null : this.#body(responseHeaders, rest, settle);
      if (empty) settle();
      return new Response(stream, { status, headers: responseHeaders });
    } catch (error) {
      settle();
      this.close();
      throw signal?.aborted ? signal.reason : error;
    }
  };

  /** Closes the connection; once is enough, more does no harm. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#conn.close();
  }

  [Symbol.dispose]() {
    this.close();
  }

  /** What one read of the socket gives, in an array of its own; null at its end. */
  async #read(): Promise<Uint8Array | null> {
    const size = await this.#conn.read(this.#buffer);
    return size === null ? null : this.#buffer.slice(0, size);
  }

  #body(headers: Headers, rest: Uint8Array, settle: () => void): ReadableStream<Uint8Array<ArrayBuffer>> {
    const unframe = framing(headers);
    let pending: Uint8Array | undefined = rest;
    return new ReadableStream({
      pull: async (controller) => {
        try {
          while (true) {
            // An empty piece still asks the framing whether the body has ended already.
            const piece: Uint8Array | null = pending ?? await this.#read();
            pending = undefined;
            const { payload, done } = unframe(piece);
            if (payload.length > 0) controller.enqueue(payload as Uint8Array<ArrayBuffer>);
            if (done) {
              controller.close();
              settle();
            }
            if (payload.length > 0 || done) return;
          }
        } catch (error) {
          settle();
          this.close();
          throw error;
        }
      },
      cancel: () => {
        settle();
        this.close();
      },
    }, { highWaterMark: 0 });
  }
}
