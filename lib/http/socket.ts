/** One end of a connection, as the runtime gives it. `Deno.TcpConn` is one, and `Deno.TlsConn`. */
export interface Socket {
  /** Bytes read into `into`; null when the peer has sent its last. Only one read waits at a time. */
  read(into: Uint8Array): Promise<number | null>;
  /** How many of `bytes` were taken, at least one. */
  write(bytes: Uint8Array): Promise<number>;
  /** Ends both directions; what still waits in `read` or `write` rejects. */
  close(): void;
  /** Ends the sending direction, so that the peer reads all that was written whatever it has still sent itself. */
  closeWrite?(): Promise<void>;
  setNoDelay?(on: boolean): void;
}

/** Closes it. It may be closed already, by the other of the two that end a connection: the runtime throws then. */
export function closeSocket(socket: Socket): void {
  try {
    socket.close();
  } catch {
    // Nothing is left to be closed.
  }
}

/** Writes all of `bytes`, in as many writes as the socket needs. Rejects when the connection is gone. */
export async function writeAll(socket: Socket, bytes: Uint8Array, from = 0): Promise<void> {
  for (let at = from; at < bytes.length;) {
    const taken = await socket.write(at === 0 ? bytes : bytes.subarray(at));
    if (taken <= 0) throw new Error("the socket takes no more bytes");
    at += taken;
  }
}
