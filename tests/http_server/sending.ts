import type { DirectBody, Outlet } from "../../lib/http/outlet.ts";
import { DirectSender } from "../../lib/http/server/direct_sender.ts";
import { MemorySocket } from "./memory_socket.ts";

/** Stands for a response's head. */
export const HEAD = "HTTP/1.1 200 OK\r\n\r\n";

/** A body that does nothing by itself, and counts what it is told. */
export class CountingBody implements DirectBody {
  over = false;
  outlet: Outlet | undefined;
  resumed = 0;
  cancelled = 0;

  attach(outlet: Outlet): boolean {
    if (this.over) return false;
    this.outlet = outlet;
    return true;
  }

  resume(): void {
    this.resumed++;
  }

  cancel(): void {
    this.cancelled++;
  }
}

/** A sender that was given its head, over a connection in memory. */
export function sending(prepare?: (socket: MemorySocket) => void, chunked = true) {
  const socket = new MemorySocket();
  prepare?.(socket);
  const body = new CountingBody();
  const sender = new DirectSender(socket, body, chunked);
  const result: { whole?: boolean } = {};
  sender.send(HEAD).then((whole) => result.whole = whole);
  return { socket, body, sender, result };
}
