import { createParser } from "eventsource-parser";

/** What the parser counts on top of an event's data while a line is open: "data: " and a line end. */
const LINE_OVERHEAD = 8;

/** Bytes pushed in, events handed out as soon as their blank line has come. Comments are passed over. */
export class EventFeed {
  /** An event has outgrown the limit: its end was never found, so nothing after it is handed out. */
  tooLarge = false;
  /** The parser strips the one byte order mark itself; a decoder that did so as well would strip two. */
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #parser: ReturnType<typeof createParser>;

  /** @param maxLength longest data of one event, in UTF-16 units; no more than that is ever held */
  constructor(onEvent: (name: string | undefined, data: string) => void, maxLength: number) {
    this.#parser = createParser({
      maxBufferSize: maxLength + LINE_OVERHEAD,
      onEvent: ({ event, data }) => {
        // An event that came whole within one read never sat in the parser's buffer, so its limit did not apply.
        if (data.length > maxLength) this.tooLarge = true;
        if (!this.tooLarge) onEvent(event, data);
      },
      onError: ({ type, field, value, line }) => {
        if (type === "max-buffer-size-exceeded") this.tooLarge = true;
        if (type !== "unknown-field" || this.tooLarge) return;
        // Lines that are no event by the rules, but by which a server tells of its failure: llama.cpp has written
        // `error: {…}`, Ollama the bare JSON. Every other such line is ignored, as the rules say. The parser keeps none
        // of them over reads: one that is cut is lost, and the stream then ends without its end, a failure too.
        if (field === "error") onEvent("error", value ?? "");
        else if (line?.startsWith('{"error"')) onEvent("error", line);
      },
    });
  }

  push(bytes: Uint8Array): void {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The body has ended: hands out the event that was still open. */
  end(): void {
    // Two line ends close whatever is open: the first the line, the second the event.
    this.#parser.feed(this.#decoder.decode() + "\n\n");
  }
}
