import { EpollTransport } from "./epoll.ts";
import { SocketTransport } from "./sockets.ts";

/** What a connection tells its owner. `buffer` is shared: take what is needed before returning. */
export interface Handlers {
  /** The connection is established; `send` may be called from here on. */
  open(now: number): void;
  /** `length` bytes of `buffer` arrived; `now` (ms, `performance.now()`) was taken right after the read. */
  data(buffer: Uint8Array, length: number, now: number): void;
  /** The connection ended by the other side: null for an orderly end, else what went wrong. Called once. */
  closed(problem: string | null): void;
}

export interface Connection {
  /** Writes a request; small enough to fit an empty socket buffer. */
  send(bytes: Uint8Array): void;
  /** Closes at once. `closed` is not called. */
  close(): void;
}

/** Many TCP connections to one address, driven by `poll`. */
export interface Transport {
  readonly name: "epoll" | "sockets";
  connect(port: number, handlers: Handlers): Connection;
  /** Waits up to `ms` for arrivals and hands them to the handlers. */
  poll(ms: number): void | Promise<void>;
  close(): void;
}

export type TransportChoice = "auto" | Transport["name"];

/**
 * The cheapest transport this machine has: `epoll` through the C library on Linux, else `Deno.connect`.
 * The generator shares the machine with the server it measures, so its own cost per event decides how
 * much load it can make before it becomes what is measured.
 */
export function createTransport(choice: TransportChoice): Transport {
  if (choice === "sockets") return new SocketTransport();
  if (choice === "epoll") return new EpollTransport();
  try {
    return new EpollTransport();
  } catch {
    // Not Linux, another C library, or no --allow-ffi: the portable way always works.
    return new SocketTransport();
  }
}
