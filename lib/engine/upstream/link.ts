import type { Socket } from "../../http/socket.ts";
import type { Connect } from "./exchange.ts";
import { notConnected } from "./failures.ts";

/** The one connection of a request, which may be closed at any time, also before it has come about. */
export class Link {
  readonly #connecting = new AbortController();
  #connection: Socket | undefined;
  #closed = false;

  /** Opens it. Rejects when it does not come about, or only after `close`: then no socket is left behind. */
  async open(connect: Connect): Promise<Socket> {
    const connection = await connect(this.#connecting.signal).catch((error) => {
      throw notConnected(error);
    });
    if (this.#closed) {
      connection.close();
      throw this.#connecting.signal.reason;
    }
    this.#connection = connection;
    return connection;
  }

  /** Takes back connecting, or closes the socket. Called again, it does nothing: a socket is closed only once. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#connection === undefined) this.#connecting.abort();
    else this.#connection.close();
  }
}
