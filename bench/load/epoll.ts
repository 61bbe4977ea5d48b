import type { Connection, Handlers, Transport } from "./transport.ts";

const SYMBOLS = {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  // ssize_t fits i32 for our buffer sizes, and an i32 does not become a bigint on every call.
  recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "i32" },
  send: { parameters: ["i32", "buffer", "usize", "i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  epoll_create1: { parameters: ["i32"], result: "i32" },
  epoll_ctl: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  epoll_wait: { parameters: ["i32", "buffer", "i32", "i32"], result: "i32" },
  __errno_location: { parameters: [], result: "pointer" },
} as const;

const AF_INET = 2, SOCK_STREAM = 1, SOCK_NONBLOCK = 0o4000, SOL_SOCKET = 1, SO_ERROR = 4;
const MSG_NOSIGNAL = 0x4000;
const EPOLLIN = 1, EPOLLOUT = 4, CTL_ADD = 1, CTL_MOD = 3;
const EAGAIN = 11, EINTR = 4, EINPROGRESS = 115, ECONNRESET = 104;

/** struct epoll_event is packed on x86-64 only. */
const EVENT_BYTES = Deno.build.arch === "x86_64" ? 12 : 16;
const DATA_OFFSET = EVENT_BYTES - 8;
const MAX_EVENTS = 512;
const READ_BYTES = 65536, READ_LENGTH = BigInt(READ_BYTES);

interface Entry {
  handlers: Handlers;
  connected: boolean;
}

/**
 * Linux epoll and recv called straight from the C library. One read costs a system call and little
 * else, because no promise, buffer or task is made for it. Each poll blocks the thread, which suits a
 * process that does nothing but read sockets.
 */
export class EpollTransport implements Transport {
  readonly name = "epoll";
  readonly #library = openLibrary();
  readonly #c = this.#library.symbols;
  readonly #errno = new Deno.UnsafePointerView(this.#c.__errno_location()!);
  readonly #epoll = this.#c.epoll_create1(0);
  readonly #events = new Uint8Array(EVENT_BYTES * MAX_EVENTS);
  readonly #eventView = new DataView(this.#events.buffer);
  readonly #request = new Uint8Array(EVENT_BYTES);
  readonly #buffer = new Uint8Array(READ_BYTES);
  readonly #entries = new Map<number, Entry>();

  connect(port: number, handlers: Handlers): Connection {
    const fd = this.#c.socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0) {
      throw new Error(`wanted a socket, got errno ${this.#errno.getInt32()} (24: too many open files)`);
    }
    const address = new Uint8Array(16);
    new DataView(address.buffer).setUint16(0, AF_INET, true);
    address.set([port >> 8, port & 255, 127, 0, 0, 1], 2);
    if (this.#c.connect(fd, address, 16) < 0) {
      const errno = this.#errno.getInt32();
      if (errno !== EINPROGRESS) {
        this.#c.close(fd);
        throw new Error(`wanted a connection to port ${port}, got errno ${errno}`);
      }
    }
    this.#entries.set(fd, { handlers, connected: false });
    this.#watch(CTL_ADD, fd, EPOLLOUT);
    return {
      send: (bytes) => {
        const sent = this.#c.send(fd, bytes, BigInt(bytes.length), MSG_NOSIGNAL);
        if (sent === bytes.length) return;
        this.#end(fd, `wanted to send ${bytes.length} bytes, sent ${sent} (errno ${this.#errno.getInt32()})`);
      },
      close: () => this.#forget(fd),
    };
  }

  poll(ms: number): void {
    const count = this.#c.epoll_wait(this.#epoll, this.#events, MAX_EVENTS, Math.max(0, Math.floor(ms)));
    for (let index = 0; index < count; index++) {
      const fd = this.#eventView.getInt32(index * EVENT_BYTES + DATA_OFFSET, true);
      const entry = this.#entries.get(fd);
      if (!entry) continue;
      if (entry.connected) this.#read(fd, entry.handlers);
      else this.#finishConnect(fd, entry);
    }
  }

  close(): void {
    for (const fd of [...this.#entries.keys()]) this.#forget(fd);
    this.#c.close(this.#epoll);
    this.#library.close();
  }

  #finishConnect(fd: number, entry: Entry): void {
    const value = new Int32Array(1);
    this.#c.getsockopt(fd, SOL_SOCKET, SO_ERROR, value, new Uint32Array([4]));
    if (value[0] !== 0) return this.#end(fd, `connect failed with errno ${value[0]}`);
    entry.connected = true;
    this.#watch(CTL_MOD, fd, EPOLLIN);
    entry.handlers.open(performance.now());
  }

  #read(fd: number, handlers: Handlers): void {
    const length = this.#c.recv(fd, this.#buffer, READ_LENGTH, 0);
    if (length > 0) return handlers.data(this.#buffer, length, performance.now());
    if (length === 0) return this.#end(fd, null);
    const errno = this.#errno.getInt32();
    if (errno === EAGAIN || errno === EINTR) return;
    this.#end(fd, errno === ECONNRESET ? "connection reset" : `read failed with errno ${errno}`);
  }

  #watch(operation: number, fd: number, events: number): void {
    const view = new DataView(this.#request.buffer);
    view.setUint32(0, events, true);
    view.setInt32(DATA_OFFSET, fd, true);
    this.#c.epoll_ctl(this.#epoll, operation, fd, this.#request);
  }

  #end(fd: number, problem: string | null): void {
    const entry = this.#entries.get(fd);
    this.#forget(fd);
    entry?.handlers.closed(problem);
  }

  #forget(fd: number): void {
    if (this.#entries.delete(fd)) this.#c.close(fd);
  }
}

function openLibrary() {
  if (Deno.build.os !== "linux") throw new Error("epoll exists on Linux only");
  return Deno.dlopen("libc.so.6", SYMBOLS);
}
