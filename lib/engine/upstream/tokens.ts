import type { TapError } from "../../errors.ts";
import { EventFeed } from "../../event_feed.ts";
import { nextRound } from "../../event_loop.ts";
import { ToldError } from "../../openai_event.ts";
import { ENDED, type FinishReason, PENDING, type Polled, type Waiter, type Watch } from "../engine.ts";
import type { Clock } from "../pacer.ts";
import { PollableTokens } from "../pollable.ts";
import { Deadlines, type UpstreamLimits } from "./deadlines.ts";
import { type Connect, Exchange } from "./exchange.ts";
import { brokenExchange, connectionError } from "./failures.ts";
import { Link } from "./link.ts";
import { parsePayload, type Payload } from "./payload.ts";
import { isTokenStream, refusal, refusalText, streamError } from "./refusal.ts";
import type { UpstreamRequest } from "./request.ts";
import { TokenQueue } from "./token_queue.ts";

const MAX_EVENT_LENGTH = 1024 * 1024;
/** After finish_reason: how long usage and `[DONE]` are waited for. */
const GRACE_MS = 500;
/**
 * Reading stops while this many tokens wait for the reader; TCP then slows the upstream down. The read that brings
 * the last of them may bring others, of at most 8 KB.
 */
const MAX_QUEUED = 64;

/**
 * Reads that are ready at once, one behind the other, never leave the microtask queue: after this long the event loop
 * goes round. It is short, since Deno 2.9 looks at its other sockets only in one round of many when it is never idle.
 */
const TURN_MS = 0.5;
/** A read that took longer than this was waited for, and the event loop has gone round. */
const WAITED_MS = 4;

/** One generation of an upstream server: reads its stream, counts what comes, and closes the socket at the end. */
export class UpstreamTokens extends PollableTokens {
  readonly #clock: Clock;
  readonly #watch: Watch;
  readonly #signal: AbortSignal;
  readonly #deadlines: Deadlines;
  readonly #ourModel: boolean;
  readonly #link = new Link();
  readonly #started = Promise.withResolvers<void>();
  readonly #queue = new TokenQueue();
  /** When the last read returned. */
  #readAt = 0;
  /** Set while reading has stopped for a reader that does not keep up. */
  #resume: (() => void) | undefined;
  #produced = 0;
  /** A finish_reason came, or `[DONE]`: whatever becomes of the connection now, the answer is whole. */
  #finished = false;
  #refused = false;
  /** The body has ended within an event. */
  #unterminated = false;
  #over = false;
  #failure: TapError | undefined;
  #waiter: Waiter | undefined;

  constructor(
    connect: Connect,
    request: UpstreamRequest,
    clock: Clock,
    limits: UpstreamLimits,
    signal: AbortSignal,
    watch: Watch,
  ) {
    super();
    this.#clock = clock;
    this.#watch = watch;
    this.#signal = signal;
    this.#ourModel = request.ourModel;
    this.#deadlines = new Deadlines(clock, limits, (error) => this.#break(error));
    // The failure also comes out of poll(); whoever does not wait for `started` must not fall over it.
    this.#started.promise.catch(() => {});
    signal.addEventListener("abort", this.#leave);
    watch.prefill(clock.now());
    if (signal.aborted) this.halt();
    else this.#run(connect, request.bytes);
  }

  /** Settles with the head of the upstream's response, or with what failed before it. */
  override get started(): Promise<void> {
    return this.#started.promise;
  }

  /** The upstream has refused, and what it says of that is being read. */
  get refused(): boolean {
    return this.#refused;
  }

  poll(waiter: Waiter): Polled {
    this.#waiter = undefined;
    const token = this.#queue.take();
    if (token !== undefined) {
      if (this.#resume !== undefined && this.#queue.size === 0) this.#resume();
      return token;
    }
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#over) return ENDED;
    this.#waiter = waiter;
    return PENDING;
  }

  halt(): void {
    this.#queue.clear();
    this.#close();
  }

  readonly #leave = (): void => this.halt();

  async #run(connect: Connect, bytes: Uint8Array): Promise<void> {
    let doing = "";
    try {
      const exchange = new Exchange(await this.#link.open(connect));
      this.#deadlines.connected();
      doing = "gave no HTTP answer";
      const { status, headers } = await exchange.send(bytes);
      if (this.#over) return;
      this.#deadlines.progress(this.#clock.now());
      if (status !== 200 || !isTokenStream(headers)) {
        this.#refused = true;
        const text = await refusalText(status, exchange, this.#clock, () => this.#link.close());
        throw refusal(status, headers, text, this.#ourModel);
      }
      if (exchange.unreadable !== undefined) throw exchange.unreadable;
      // What came with the head may already say that it failed.
      if (!exchange.primed) this.#started.resolve();
      doing = "broke its answer off midway";
      await this.#read(exchange);
      if (!this.#finished) throw connectionError(doing);
      this.#close();
    } catch (error) {
      this.#break(brokenExchange(doing, error));
    }
  }

  async #read(exchange: Exchange): Promise<void> {
    const feed = new EventFeed((name, data) => this.#hear(name, data), MAX_EVENT_LENGTH);
    let turnBegan = this.#clock.now();
    for (;;) {
      const bytes = await exchange.read();
      if (this.#over) return;
      if (bytes === null) {
        this.#unterminated = true;
        return feed.end();
      }
      const now = this.#clock.now();
      if (now - this.#readAt > WAITED_MS) turnBegan = now;
      this.#readAt = now;
      feed.push(bytes);
      if (feed.tooLarge) throw connectionError(`sent an event of more than ${MAX_EVENT_LENGTH} characters`);
      if (this.#over) return;
      this.#announce(this.#readAt);
      this.#started.resolve();
      if (this.#queue.size >= MAX_QUEUED) await this.#room();
      if (now - turnBegan > TURN_MS) {
        await new Promise<void>(nextRound);
        turnBegan = this.#clock.now();
      }
    }
  }

  #hear(name: string | undefined, data: string): void {
    // Events may follow the end within the same read.
    if (this.#over) return;
    // Half an event can look whole; only the end cannot be half of anything, and some servers forget its blank line.
    if (this.#unterminated && data.trim() !== "[DONE]") return;
    const heard = parsePayload(name, data);
    if (heard === "done") return this.#done();
    if (heard instanceof ToldError) {
      // Behind a finish_reason too: what the server itself calls a failure is no answer.
      this.#finished = false;
      throw streamError(heard.error, this.#ourModel);
    }
    if (heard.progress) this.#deadlines.progress(this.#readAt);
    if (heard.text !== "" || heard.reasoning !== "") this.#take(heard);
    if (heard.usage !== undefined) this.#watch.usage(heard.usage);
    if (heard.finish === "failed") throw connectionError("gave the generation up");
    if (heard.finish !== undefined) this.#finish(heard.finish);
  }

  #take({ text, reasoning, usage }: Payload): void {
    // A server that states a running count knows better than we do what a delta is worth; more tokens than an event can
    // have characters is no count, and each is to be counted and timed.
    const growth = (usage?.completion_tokens ?? 0) - this.#produced;
    const tokens = growth > 1 && growth <= MAX_EVENT_LENGTH ? growth : 1;
    this.#produced += tokens;
    this.#watch.produced(tokens, this.#readAt, this.#readAt);
    if (reasoning !== "") this.#queue.thought(reasoning, tokens);
    if (text !== "") this.#queue.said(text, reasoning === "" ? tokens : 0);
  }

  #finish(reason: FinishReason): void {
    this.#finished = true;
    this.#queue.end();
    this.#watch.finished(reason);
    this.#deadlines.grace(GRACE_MS);
  }

  #done(): void {
    if (!this.#finished) {
      if (this.#produced === 0) throw connectionError("ended its stream without a token");
      this.#finish("stop");
    }
    this.#close();
  }

  async #room(): Promise<void> {
    this.#deadlines.pause(true);
    await new Promise<void>((resolve) => this.#resume = resolve);
    this.#resume = undefined;
    this.#deadlines.pause(false);
  }

  /** The connection is of no more use: a failure, unless the answer was whole by then. */
  #break(error: TapError): void {
    if (this.#over) return;
    if (!this.#finished) {
      this.#failure = error;
      // Tokens came first, as happens within one read: the answer has begun, and they are handed over before this.
      if (this.#produced === 0) this.#started.reject(error);
    }
    this.#close();
  }

  /** The one way out: nothing is read or counted after it, and the socket is closed. */
  #close(): void {
    if (this.#over) return;
    this.#over = true;
    this.#started.resolve();
    this.#signal.removeEventListener("abort", this.#leave);
    this.#deadlines.stop();
    this.#link.close();
    this.#watch.upstreamClosed(this.#clock.now());
    this.#resume?.();
    this.#announce();
  }

  #announce(now?: number): void {
    const waiter = this.#waiter;
    if (waiter === undefined || (this.#queue.size === 0 && !this.#over)) return;
    this.#waiter = undefined;
    waiter.wake(now);
  }
}
