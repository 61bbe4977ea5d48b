import { settled } from "../../event_loop.ts";
import { NOTHING } from "../bytes.ts";
import { withHead } from "../header_text.ts";
import { ChunkFrames, LAST_CHUNK } from "./chunk_frame.ts";
import { directBody } from "../outlet.ts";
import { closeSocket, type Socket, writeAll } from "../socket.ts";
import { DirectSender } from "./direct_sender.ts";
import type { RequestHead } from "./request_head.ts";
import { bodiless, type BodyFraming, responseHead } from "./response_head.ts";

type Read = ReadableStreamReadResult<Uint8Array>;

/** What decides the form of an answer, beside the response itself. `close`: the connection ends with it. */
type Asked = Pick<RequestHead, "method" | "old" | "close">;

/**
 * Writes one response. The body is read only as fast as the socket takes it, each chunk of it is one write, and its
 * last chunk is written only when it has ended well.
 */
export class ResponseWriter {
  /** The body broke while it was sent, or had not the length its header says. */
  broken: { error: unknown } | undefined;
  /** Whose failure is known already: a body that can be driven directly tells of its own. */
  told = false;
  /** All of the response is there, and nothing but the client is waited for. */
  ready = false;
  readonly #socket: Socket;
  readonly #response: Response;
  readonly #asked: Asked;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #sender: DirectSender | undefined;

  constructor(socket: Socket, response: Response, asked: Asked) {
    this.#socket = socket;
    this.#response = response;
    this.#asked = asked;
  }

  /** The peer has left, and the socket is closed: stops the body at once, also while it is silent. */
  leave(): void {
    if (this.#sender !== undefined) return this.#sender.leave();
    this.#reader?.cancel().catch(() => {});
  }

  /** Whether the connection may go on: false when the response was not sent whole. Never rejects. */
  async send(): Promise<boolean> {
    try {
      return await this.#send();
    } catch {
      // The peer has left, the write failed, or the body did; only the last is worth a word, see `broken`.
      this.leave();
      return false;
    }
  }

  async #send(): Promise<boolean> {
    const { body, status } = this.#response;
    const { method, close } = this.#asked;
    if (body === null || bodiless(method, status)) {
      body?.cancel().catch(() => {});
      return await this.#whole(bodiless(method, status) ? "none" : 0);
    }
    const reader = body.getReader();
    const direct = directBody(body);
    this.told = direct !== undefined;
    if (direct !== undefined) {
      const { old } = this.#asked;
      const sender = new DirectSender(this.#socket, direct, !old);
      if (direct.attach(sender)) {
        this.#sender = sender;
        const whole = await sender.send(
          responseHead(this.#response, old ? "close" : "chunked", close),
        );
        return whole && !close;
      }
    }
    this.#reader = reader;
    // Told at once also while a write waits for a client that takes nothing.
    reader.closed.catch((error) => {
      this.broken = { error };
      closeSocket(this.#socket);
    });
    const first = reader.read();
    // It is looked at only when the head is taken: until then a failure of it is `closed`'s to tell.
    first.catch(() => {});
    // An event stream has no length, however soon it ends: a short one goes out as a long one does.
    const events = this.#response.headers.get("content-type")?.startsWith("text/event-stream");
    // What waits for something outside must not keep the head waiting.
    const early = events ? undefined : await settled(first);
    if (early === undefined) return await this.#stream(reader, first);
    if (early.done) return await this.#whole(0);
    const second = reader.read();
    const end = await settled(second);
    if (end?.done) return await this.#whole(early.value.length, early.value);
    return await this.#stream(reader, second, early.value);
  }

  async #whole(framing: number | "none", body?: Uint8Array): Promise<boolean> {
    this.ready = true;
    await this.#head(framing, body);
    return !this.#asked.close;
  }

  async #stream(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    reading: Promise<Read>,
    first?: Uint8Array,
  ): Promise<boolean> {
    const length = this.#response.headers.get("content-length");
    if (length !== null) return await this.#plain(reader, reading, first, Number(length));
    if (this.#asked.old) return await this.#plain(reader, reading, first, undefined);
    const socket = this.#socket;
    const frames = new ChunkFrames();
    await this.#head("chunked", first?.length ? frames.frame(first) : undefined);
    let read = await reading;
    while (!read.done) {
      if (read.value.length > 0) {
        // The hot path, once per token: one write and no function of its own around it.
        const frame = frames.frame(read.value);
        const taken = await socket.write(frame);
        if (taken !== frame.length) await writeAll(socket, frame, taken);
      }
      read = await reader.read();
    }
    await writeAll(socket, LAST_CHUNK);
    return !this.#asked.close;
  }

  /** Without chunks: the body ends after `length` bytes, or with the connection. */
  async #plain(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    reading: Promise<Read>,
    first: Uint8Array | undefined,
    length: number | undefined,
  ): Promise<boolean> {
    let sent = first?.length ?? 0;
    if (length !== undefined && sent > length) throw this.#wrongLength(length);
    await this.#head(length ?? "close", first);
    for (let read = await reading; !read.done; read = await reader.read()) {
      sent += read.value.length;
      if (length !== undefined && sent > length) throw this.#wrongLength(length);
      await writeAll(this.#socket, read.value);
    }
    if (length === undefined) return false;
    if (sent !== length) throw this.#wrongLength(length);
    return !this.#asked.close;
  }

  #wrongLength(length: number): Error {
    const error = new Error(`The response's Content-Length is ${length}, and its body another.`);
    this.broken = { error };
    return error;
  }

  /** The head, and with it what is ready of the body. */
  async #head(framing: BodyFraming, ready: Uint8Array = NOTHING): Promise<void> {
    const head = responseHead(this.#response, framing, this.#asked.close);
    await writeAll(this.#socket, withHead(head, ready));
  }
}
