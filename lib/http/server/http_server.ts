import type { Socket } from "../socket.ts";
import { Connection, type ConnectionOptions, type Failure, type Handler } from "./connection.ts";

/** Where connections come from. `Deno.Listener` is one. */
export interface Listener extends AsyncIterable<Socket> {
  /** No more of them: ends the iteration. */
  close(): void;
}

export interface HttpServerOptions extends Partial<Omit<ConnectionOptions, "handler" | "onError">> {
  handler: Handler;
  /** What failed that no client can be told of; must not throw. */
  onError: (error: unknown, at: Failure) => void;
  /** How often all connections are looked at for what is overdue, in milliseconds. */
  sweepMs?: number;
}

/** After a failed accept, e.g. for want of descriptors: soon enough, and no spinning. */
const ACCEPT_PAUSE_MS = 100;

/** The process or the machine has no room for one more connection. */
const FULL = /^(EMFILE|ENFILE|ENOBUFS|ENOMEM)$/;

/** Connections without a request that make room then, at most: enough for a burst, and not all that clients keep. */
const MADE_ROOM_FOR = 64;
/** Only those that have waited this long: the request of one that has just come may not have been read yet. */
const IDLE_MS = 1000;

/** An accept that fails because that client has already left. Many do at once, and the next one must not wait. */
const GONE = /^(NotConnected|ConnectionReset|ConnectionAborted)$/;

/**
 * An HTTP/1.1 server over plain sockets. No HTTP/2, no TLS, no upgrades: what stands in front of it has them.
 */
export class HttpServer {
  readonly #listener: Listener;
  readonly #options: ConnectionOptions;
  readonly #connections = new Set<Connection>();
  readonly #sweep: ReturnType<typeof setInterval>;
  readonly #accepting: Promise<void>;
  #draining = false;
  #onEmpty: (() => void) | undefined;

  constructor(listener: Listener, options: HttpServerOptions) {
    this.#listener = listener;
    const { sweepMs = 1000, ...rest } = options;
    this.#options = {
      now: () => performance.now(),
      headMs: 10_000,
      idleMs: 65_000,
      closing: () => false,
      ...rest,
    };
    // One timer for all: one each would cost every request two.
    this.#sweep = setInterval(() => this.#expire(), sweepMs);
    this.#accepting = this.#accept();
  }

  /** Accepts no more, closes what is idle, and resolves when the last response has ended. */
  async shutdown(): Promise<void> {
    if (!this.#draining) {
      this.#draining = true;
      try {
        this.#listener.close();
      } catch {
        // Closed already.
      }
      for (const connection of this.#connections) connection.drain();
    }
    await this.#accepting;
    if (this.#connections.size > 0) await new Promise<void>((resolve) => this.#onEmpty = resolve);
    clearInterval(this.#sweep);
  }

  async #accept(): Promise<void> {
    let told = false;
    while (!this.#draining) {
      try {
        for await (const socket of this.#listener) {
          told = false;
          this.#serve(socket);
        }
        return;
      } catch (error) {
        if (this.#draining) return;
        if (error instanceof Error && GONE.test(error.name)) continue;
        // Once for a row of failures: a lack of descriptors may last.
        if (!told) this.#options.onError(error, "accept");
        told = true;
        if (FULL.test(String((error as { code?: unknown })?.code))) this.#makeRoom();
        await new Promise((resolve) => setTimeout(resolve, ACCEPT_PAUSE_MS));
      }
    }
  }

  #serve(socket: Socket): void {
    try {
      // Each write is a token that somebody waits for.
      socket.setNoDelay?.(true);
    } catch {
      // The client has gone already; the first read tells.
    }
    const connection = new Connection(socket, this.#options);
    this.#connections.add(connection);
    connection.run().then(() => {
      this.#connections.delete(connection);
      if (this.#connections.size === 0) this.#onEmpty?.();
    });
    if (this.#draining) connection.drain();
  }

  /** Closes the connections that have been without a request the longest: who waits has more need of them. */
  #makeRoom(): void {
    const before = this.#options.now() - IDLE_MS;
    const idle = [...this.#connections].filter(({ idleSince = Infinity }) => idleSince <= before);
    idle.sort((a, b) => a.idleSince! - b.idleSince!);
    for (const connection of idle.slice(0, MADE_ROOM_FOR)) connection.close();
  }

  #expire(): void {
    const now = this.#options.now();
    for (const connection of this.#connections) connection.expire(now);
  }
}
