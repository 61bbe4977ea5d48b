import type { Engine, EngineRequest } from "../../lib/engine/engine.ts";
import { type BodyOptions, streamBody } from "../../lib/stream/body.ts";
import type { Format } from "../../lib/stream/format.ts";
import { Ledger } from "../../lib/stream/ledger.ts";
import { plainFormat } from "../../lib/stream/plain.ts";
import { Turn } from "../../lib/stream/turn.ts";
import type { ManualClock } from "./manual_clock.ts";
import { REQUEST } from "./scripted_engine.ts";

/** How long nothing is sent, or nothing taken, in milliseconds. */
export const KEEP_ALIVE_MS = 15_000;
export const STALL_MS = 30_000;

/** A generation of `engine` as the body of a response, without a socket. */
export function openBody(
  engine: Engine,
  clock: ManualClock,
  request: Partial<EngineRequest> = {},
  { format = plainFormat, ...options }: Partial<BodyOptions> & { format?: Format } = {},
) {
  const errors: unknown[] = [];
  const ledger = new Ledger({ clock, onUnexpected: (_id, error) => errors.push(error) });
  const whole = { ...REQUEST, ...request };
  const generation = ledger.open({
    id: whole.id,
    route: "/stream",
    streamed: true,
    model: "m",
    requested: whole.maxTokens,
    promptTokens: whole.promptTokens,
  }).start(engine, whole);
  const turn = new Turn(() => clock.now());
  const settings = { keepAlive: KEEP_ALIVE_MS, stallLimit: STALL_MS };
  const body = streamBody(generation, format, { clock, turn, settings, ...options });
  const reader = new Response(body).body!.getReader();
  const text = new TextDecoder();
  /** The next chunk as text, or null at the end. */
  const read = async () => {
    const { done, value } = await reader.read();
    return done ? null : text.decode(value, { stream: true });
  };
  /** All chunks until the end. */
  const drain = async () => {
    const chunks: string[] = [];
    for (let chunk = await read(); chunk !== null; chunk = await read()) chunks.push(chunk);
    return chunks;
  };
  return { ledger, record: generation.record, generation, reader, read, drain, errors, turn };
}

/** The event of a plain stream for one token. */
export function event(token: string): string {
  return `data: ${JSON.stringify({ token })}\n\n`;
}

/** Lets the event loop go round once. */
export function goRound(): Promise<void> {
  return new Promise((resolve) => new Turn().next(resolve));
}
