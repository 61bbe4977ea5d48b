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
    const conn = await Deno.connect({ ...address, signal });
    conn.setNoDelay(true);
    if (!secure) return conn;
    let open: { close(): void } = conn;
    const leave = () => open.close();
    signal.addEventListener("abort", leave, { once: true });
    try {
      const tls = await Deno.startTls(conn, { hostname, alpnProtocols: ["http/1.1"] });
      open = tls;
      signal.throwIfAborted();
      await tls.handshake();
      return tls;
    } catch (error) {
      if (!signal.aborted) open.close();
      throw new HandshakeError("the TLS handshake failed", { cause: error });
    } finally {
      signal.removeEventListener("abort", leave);
    }
  };
}
