import type { OnReadOpts } from "node:net";
import type { ConnectionOptions } from "node:tls";
import type { Socket } from "../../http/socket.ts";
import { type Connect, HandshakeError } from "./exchange.ts";
import { PushedSocket } from "./pushed_socket.ts";

/**
 * Connections to the origin of `url` (http or https), one new socket each.
 *
 * TLS speaks HTTP/1.1 only: over HTTP/2 the generations would share one socket, and to leave one would be a message
 * in the queue of that socket.
 */
export function dial(url: string): Connect {
  const { protocol, hostname: host, port } = new URL(url);
  const hostname = host.replace(/^\[|\]$/g, "");
  const secure = protocol === "https:";
  const address = { hostname, port: Number(port) || (secure ? 443 : 80) };
  return (signal) => secure ? connectTls(address, signal) : connect(address, signal);
}

interface Address {
  hostname: string;
  port: number;
}

async function connect(address: Address, signal: AbortSignal): Promise<Socket> {
  const taken = new AbortController();
  // When the signal aborts after the socket was opened and before the promise has settled, Deno 2.9 throws from its
  // `finally` and forgets the open socket. Without this method it hands the socket over, and it is closed here.
  taken.signal.throwIfAborted = () => {};
  const leave = () => taken.abort();
  signal.addEventListener("abort", leave, { once: true });
  try {
    const conn = await Deno.connect({ ...address, signal: taken.signal });
    if (signal.aborted) conn.close();
    signal.throwIfAborted();
    conn.setNoDelay(true);
    return conn;
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

/** As large as the buffer of who reads it: a read takes all of it. */
const READ_BYTES = 8 * 1024;

/**
 * By Node's TLS, which closes a socket in its handshake when told to. Deno 2.9's own (`startTls`, `connectTls`) closes
 * it only with the peer's next word, whatever is called: an upstream that accepts and says nothing would keep a socket
 * of ours for each request. A read costs 36 µs of CPU with `onread`, which has no stream between (48 with it), one of
 * Deno's 31. Of an upstream that is as fast as that up to 2 MB may have come before a reader who stops is heeded.
 */
async function connectTls({ hostname, port }: Address, signal: AbortSignal): Promise<Socket> {
  // Only here: who speaks http has no use for it.
  const { connect } = await import("node:tls");
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  let connected = false;
  const options: ConnectionOptions & { onread: OnReadOpts } = {
    host: hostname,
    port,
    ALPNProtocols: ["http/1.1"],
    // Said here, since an environment variable of Node's turns it off.
    rejectUnauthorized: true,
    onread: {
      buffer: new Uint8Array(READ_BYTES),
      callback(size, bytes) {
        socket.push(bytes.subarray(0, size));
        return true;
      },
    },
  };
  const tls = connect(options);
  const socket = new PushedSocket(tls);
  const leave = () => socket.close();
  signal.addEventListener("abort", leave, { once: true });
  const fail = (error: Error) => {
    reject(connected ? new HandshakeError("the TLS handshake failed", { cause: error }) : error);
    socket.fail(error);
  };
  tls.setNoDelay(true);
  tls.once("connect", () => connected = true);
  tls.once("secureConnect", () => resolve(socket));
  tls.on("end", () => socket.end());
  tls.on("error", fail);
  tls.on("close", () => fail(new Error("the socket was closed")));
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
