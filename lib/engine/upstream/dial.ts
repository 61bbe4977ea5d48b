import { type Connect, HandshakeError } from "./exchange.ts";

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

  return async (signal) => {
    const conn = await connect(address, signal);
    conn.setNoDelay(true);
    return secure ? await handshake(conn, hostname) : conn;
  };
}

async function connect(address: Deno.ConnectOptions, signal: AbortSignal): Promise<Deno.TcpConn> {
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
    return conn;
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

/**
 * Not taken back by a signal: Deno 2.9 closes a socket in its handshake only with the peer's next word, whatever is
 * called. Who is no longer interested closes the connection when it comes; nothing has been asked by then.
 */
async function handshake(conn: Deno.TcpConn, hostname: string): Promise<Deno.TlsConn> {
  const tls = await Deno.startTls(conn, { hostname, alpnProtocols: ["http/1.1"] });
  try {
    await tls.handshake();
    return tls;
  } catch (error) {
    tls.close();
    throw new HandshakeError("the TLS handshake failed", { cause: error });
  }
}
