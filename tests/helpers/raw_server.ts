import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

/** One step of a scripted response: bytes to write (text is UTF-8), or a wait in milliseconds. */
export type Step = Uint8Array | string | number;

/**
 * How the connection ends after the last step: `fin` closes it, `reset` tears it down (RST), `hold` keeps it open
 * until the peer or the server closes it.
 */
export type End = "fin" | "reset" | "hold";

export interface Script {
  steps: Step[];
  end: End;
}

export interface RawRequest {
  /** The request head with its closing blank line, and as much of a body as came with it. */
  head: string;
  /** Settles with the time (performance.now()) when the peer has closed the connection, or the server itself. */
  closed: Promise<number>;
}

export interface RawServer extends AsyncDisposable {
  url: string;
  requests: RawRequest[];
}

export const SSE_HEAD =
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n";

/**
 * A TCP server that reads a request's head and then writes exactly the given pieces, each in a write of its own; on
 * a held connection the same again for the next request. `script` may choose by the request head. Close it with
 * `await using`.
 *
 * Built on node:net, for `Deno.Conn.close()` always says FIN first and cannot send a plain RST.
 */
export async function rawServer(script: Script | ((head: string) => Script)): Promise<RawServer> {
  const requests: RawRequest[] = [];
  const sockets = new Set<Socket>();
  const scripts: Promise<void>[] = [];

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const closed = Promise.withResolvers<number>();
    const gone = () => closed.resolve(performance.now());
    sockets.add(socket);
    socket.on("end", gone).on("close", gone).on("error", gone);
    socket.on("close", () => sockets.delete(socket));
    let head = "";
    socket.on("data", (bytes) => {
      head += bytes.toString();
      if (!head.includes("\r\n\r\n")) return;
      requests.push({ head, closed: closed.promise });
      scripts.push(play(socket, typeof script === "function" ? script(head) : script, closed.promise));
      head = "";
    });
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      const down = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await Promise.all(scripts);
      await down;
    },
  };
}

async function play(socket: Socket, { steps, end }: Script, closed: Promise<number>): Promise<void> {
  for (const step of steps) {
    if (typeof step === "number") await wait(step, closed);
    else if (socket.writable) await new Promise<void>((resolve) => socket.write(step, () => resolve()));
  }
  if (end === "reset") return void socket.resetAndDestroy();
  if (end === "fin" && socket.writable) socket.end();
  await closed;
  socket.destroy();
}

/** Waits, but no longer than the connection lives. */
async function wait(ms: number, closed: Promise<number>): Promise<void> {
  let timer: ReturnType<typeof setTimeout>;
  await Promise.race([closed, new Promise((resolve) => timer = setTimeout(resolve, ms))]);
  clearTimeout(timer!);
}
