import type { Connection, Handlers, Transport } from "./transport.ts";

const READ_BYTES = 65536;

/** `Deno.connect` with one reused read buffer per connection: runs wherever Deno does. */
export class SocketTransport implements Transport {
  readonly name = "sockets";
  readonly #open = new Set<Deno.TcpConn>();

  connect(port: number, handlers: Handlers): Connection {
    let connection: Deno.TcpConn | undefined;
    let left = false;
    const leave = () => {
      left = true;
      if (!connection || !this.#open.delete(connection)) return;
      connection.close();
    };
    const fail = (problem: string | null) => {
      if (left) return;
      leave();
      handlers.closed(problem);
    };
    const run = async () => {
      connection = await Deno.connect({ hostname: "127.0.0.1", port });
      this.#open.add(connection);
      if (left) return leave();
      handlers.open(performance.now());
      const buffer = new Uint8Array(READ_BYTES);
      while (!left) {
        const length = await connection.read(buffer);
        const now = performance.now();
        if (left) return;
        if (length === null) return fail(null);
        handlers.data(buffer, length, now);
      }
    };
    run().catch((error) => fail(error instanceof Error ? error.message : String(error)));
    return {
      send: (bytes) => {
        connection?.write(bytes).catch((error) => fail(String(error)));
      },
      close: leave,
    };
  }

  poll(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, Math.max(1, ms)));
  }

  close(): void {
    for (const connection of this.#open) connection.close();
    this.#open.clear();
  }
}
