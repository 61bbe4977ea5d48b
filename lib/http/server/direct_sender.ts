import type { DirectBody, Outlet } from "../outlet.ts";
import { joined, NOTHING, type SharedBytes } from "../bytes.ts";
import { withHead } from "../header_text.ts";
import { closeSocket, type Socket } from "../socket.ts";
import { ChunkFrames, LAST_CHUNK, sharedFrame } from "./chunk_frame.ts";
import { PendingWrite, type WriteOwner } from "./pending_write.ts";

/**
 * Writes a body that needs no stream: what it gives goes to the socket in the same turn, one write at a time. While
 * that write is not taken the body is told that there is no room.
 */
export class DirectSender implements Outlet, WriteOwner {
  readonly copies = true;
  // What each token touches stands first: a thousand streams share the processor's caches.
  #over = false;
  /** The last write: this sender's until it is taken. */
  #write: PendingWrite = NONE;
  /** What the body gives becomes a chunk. Otherwise it goes out as it is, and ends with the connection. */
  readonly #chunked: boolean;
  readonly #socket: Socket;
  readonly #body: DirectBody;
  /** Not sent yet. */
  #head: string | undefined;
  /** What waits behind that write. A body that minds `desiredSize` leaves at most its end here. */
  readonly #waiting: Uint8Array[] = [];
  readonly #frames = new ChunkFrames();
  /** The body has ended, and then: its last chunk is out. */
  #end: "none" | "due" | "out" = "none";
  #resolve!: (whole: boolean) => void;

  constructor(socket: Socket, body: DirectBody, chunked = true) {
    this.#chunked = chunked;
    this.#socket = socket;
    this.#body = body;
  }

  /** Sends `head`, with what the body has ready, and then the rest; true when all was sent. Never rejects. */
  send(head: string): Promise<boolean> {
    const sent = new Promise<boolean>((resolve) => this.#resolve = resolve);
    this.#head = head;
    this.#body.resume();
    if (this.#head !== undefined && !this.#over) this.#writeSoon(NOTHING);
    return sent;
  }

  prefetch(): number {
    return (this.#over ? 1 : 0) ^ (this.#end === "none" ? 1 : 0) ^
      (this.#socket.closeWrite === undefined ? 1 : 0);
  }

  /** The peer has left, and the socket is closed: stops the body at once, also while it is silent. */
  leave(): void {
    this.#finish(false);
  }

  get desiredSize(): number {
    return this.#writing || this.#over ? -1 : 0;
  }

  enqueue(bytes: Uint8Array, shared?: SharedBytes): void {
    if (this.#over || (shared ?? bytes).length === 0) return;
    if (this.#writing) {
      if (this.#end === "none") this.#waiting.push(shared ? bytes : bytes.slice());
      this.#write.asked = true;
      return;
    }
    this.#writeSoon(this.#piece(bytes, shared));
  }

  ask(): void {
    if (this.#writing) this.#write.asked = true;
    // A body that is asked from inside its own question would be asked again and again.
    else queueMicrotask(() => this.#writing ? this.ask() : this.taken());
  }

  close(): void {
    if (this.#over || this.#end !== "none") return;
    this.#end = "due";
    if (!this.#writing) return this.taken();
    const write = this.#write;
    write.asked = true;
    if (write.begun || this.#waiting.length > 0) return;
    this.#end = "out";
    if (this.#chunked) write.bytes = joined([write.bytes, LAST_CHUNK]);
  }

  /** The connection is all that can tell the client: it ends without the last chunk. */
  error(): void {
    if (this.#over) return;
    closeSocket(this.#socket);
    this.#finish(false);
  }

  /** Goes on with whatever waited for the write that was taken. */
  taken(): void {
    if (this.#over) return;
    if (this.#waiting.length > 0) {
      const bytes = this.#waiting.shift()!;
      const frame = this.#chunked ? this.#frames.frame(bytes) : bytes;
      this.#write = PendingWrite.of(this, this.#socket, frame).begin();
      this.#write.asked = true;
      return;
    }
    switch (this.#end) {
      case "none":
        return this.#body.resume();
      case "due":
        this.#end = "out";
        if (!this.#chunked && this.#head === undefined) return this.taken();
        this.#writeSoon(this.#chunked ? LAST_CHUNK : NOTHING);
        this.#write.asked = true;
        return;
      case "out":
        this.#finish(true);
        this.#body.resume();
    }
  }

  lost(): void {
    this.#finish(false);
  }

  /** What goes out of `bytes`, good until the socket has taken it; with a head still to come, until the next call. */
  #piece(bytes: Uint8Array, shared: SharedBytes | undefined): Uint8Array {
    const copied = this.#head !== undefined;
    if (!this.#chunked) return shared !== undefined || copied ? bytes : bytes.slice();
    if (shared !== undefined) return sharedFrame(shared);
    return (copied ? copiedFrames : this.#frames).frame(bytes);
  }

  get #writing(): boolean {
    return this.#write.owner === this;
  }

  #writeSoon(bytes: Uint8Array): void {
    const all = this.#head === undefined ? bytes : withHead(this.#head, bytes);
    this.#head = undefined;
    this.#write = PendingWrite.of(this, this.#socket, all).putOff();
  }

  #finish(whole: boolean): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#writing) this.#write.owner = undefined;
    this.#waiting.length = 0;
    if (!whole) this.#body.cancel();
    this.#resolve(whole);
  }
}

const NONE = new PendingWrite();

/** For chunks that go out behind a head, and are copied there at once: all senders share them. */
const copiedFrames = new ChunkFrames();
