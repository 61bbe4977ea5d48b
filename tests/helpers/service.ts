import type { z } from "zod";
import { Settings } from "../../lib/config.ts";
import type { Engine } from "../../lib/engine/engine.ts";
import { Pacer } from "../../lib/engine/pacer.ts";
import { SimulatedEngine } from "../../lib/engine/simulated.ts";
import { HttpServer } from "../../lib/http/server/http_server.ts";
import { type ErrorCode, TapError } from "../../lib/errors.ts";
import { Ledger } from "../../lib/stream/ledger.ts";
import type { GenerationRecord } from "../../lib/stream/record.ts";
import { Turn } from "../../lib/stream/turn.ts";
import { createApp } from "../../routes/app.ts";
import type { Deps } from "../../routes/deps.ts";

type Fetch = (request: Request) => Response | Promise<Response>;

export interface ServiceOptions {
  /** Over the defaults of a test: no time to the first token, 2 ms between tokens. */
  settings?: z.input<typeof Settings>;
  /** Instead of the simulated engine. */
  engine?: Engine;
  /** Puts something around the app, e.g. middleware. */
  wrap?: (fetch: Fetch) => Fetch;
  /** Instead of the service's own server. */
  listen?: (fetch: Fetch) => { port: number; shutdown(): Promise<void> };
}

export interface Service extends AsyncDisposable {
  url: string;
  port: number;
  deps: Deps;
  ledger: Ledger;
  /** Every record that became final, in order; one that ends twice would be here twice. */
  ended: GenerationRecord[];
  /** What was given to the log as unexpected. */
  unexpected: { id: string; error: unknown }[];
  /** Failures of ours that no record tells of. */
  refused: { id: string; code: ErrorCode }[];
}

/** The service in this process, on a free port of 127.0.0.1. Close it with `await using`. */
export function startService(
  { settings, engine, wrap = (fetch) => fetch, listen }: ServiceOptions = {},
): Service {
  const clock = new Pacer();
  const ended: GenerationRecord[] = [];
  const unexpected: Service["unexpected"] = [];
  const refused: Service["refused"] = [];
  const onUnexpected = (id: string, error: unknown) => void unexpected.push({ id, error });
  const parsed = Settings.parse({ timeToFirstToken: 0, interTokenLatency: 2, ...settings });
  const ledger = new Ledger({ clock, onEnded: (record) => ended.push(record), onUnexpected });
  const deps: Deps = {
    engine: engine ?? new SimulatedEngine(parsed, clock),
    ledger,
    clock,
    turn: new Turn(() => clock.now(), () => clock.firing),
    settings: parsed,
    draining: () => false,
    onUnexpected,
    onRefused: (id, { code }) => void refused.push({ id, code }),
  };
  const app = createApp(deps);
  const fetch = wrap((request) => app.fetch(request));
  const server = listen?.(fetch) ?? listenHere(fetch, (error, at) => onUnexpected(at, error));
  const { port } = server;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    deps,
    ledger,
    ended,
    unexpected,
    refused,
    async [Symbol.asyncDispose]() {
      ledger.failAll(new TapError("shutting_down", "The test is over."));
      await server.shutdown();
      // The message with which a turn of the event loop is measured may still be on its way.
      for (let i = 0; i < 2; i++) await new Promise<void>((resolve) => deps.turn.next(resolve));
    },
  };
}

function listenHere(handler: Fetch, onError: (error: unknown, at: string) => void) {
  const door = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const server = new HttpServer(door, { handler, onError });
  return { port: door.addr.port, shutdown: () => server.shutdown() };
}

/** A token as an engine of a test yields it. */
export function tokenOf(text: string): { text: string; tokens: number } {
  return { text, tokens: 1 };
}

/**
 * An engine made of a plain async generator function, which is all that the interface asks for. Each token that it
 * yields is reported as produced.
 */
export function plainEngine(
  tokens: (
    request: Parameters<Engine["generate"]>[0],
    signal: AbortSignal,
  ) => AsyncGenerator<string, void, void>,
): Engine {
  return {
    name: "plain",
    simulates: true,
    countTokens: (text) => text.length,
    async *generate(request, signal, watch) {
      watch.prefill(performance.now());
      for await (const text of tokens(request, signal)) {
        const now = performance.now();
        watch.produced(1, now, now);
        yield tokenOf(text);
      }
      watch.finished("length");
    },
  };
}

/** What must add up at any moment: requests and tokens by outcome against their totals. */
export function identityHolds(totals: ReturnType<Ledger["totals"]>): boolean {
  return [totals.requests, totals.generated].every(({ completed, aborted, failed, running, total }) =>
    completed + aborted + failed + running === total
  );
}
