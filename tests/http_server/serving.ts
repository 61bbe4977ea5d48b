import { Connection, type Failure, type Handler } from "../../lib/http/server/connection.ts";
import { MemorySocket } from "./memory_socket.ts";

export interface Serving {
  socket: MemorySocket;
  connection: Connection;
  /** Settles when the connection has ended. */
  ended: Promise<void>;
  errors: { error: unknown; at: Failure }[];
  /** The connection's clock. */
  clock: { now: number };
  /** Has each answer from now on be its connection's last. */
  close: () => void;
}

/** One connection in memory that `handler` answers. */
export function serving(handler: Handler): Serving {
  const socket = new MemorySocket();
  const errors: Serving["errors"] = [];
  const clock = { now: 0 };
  let closing = false;
  const connection = new Connection(socket, {
    handler,
    onError: (error, at) => errors.push({ error, at }),
    now: () => clock.now,
    headMs: 10_000,
    idleMs: 65_000,
    closing: () => closing,
  });
  return { socket, connection, ended: connection.run(), errors, clock, close: () => closing = true };
}

/** Has everything run that needs no event from outside: all of it lies in microtasks here. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await undefined;
}

/** Statuses of all responses so far, in order. */
export function statuses(socket: MemorySocket): number[] {
  return [...socket.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/** What all heads hold without their dates, which are the only thing that differs from run to run. */
export function dateless(text: string): string {
  return text.replaceAll(/date: [^\r]+\r\n/g, "");
}
