import { SimulatedEngine } from "../lib/engine/simulated.ts";
import { Connection, type Handler } from "../lib/http/server/connection.ts";
import { Ledger } from "../lib/stream/ledger.ts";
import { createApp } from "./app.ts";
import type { Deps } from "./deps.ts";

/** Between two steps of a rehearsal: time in which a connection is accepted, its request read and answered. */
const PAUSE_MS = 5;

/** They begin no generation. */
const HARMLESS = [
  head("HEAD /stream?prompt=a"),
  post("/generate", {}),
  post("/v1/chat/completions", {}),
  post("/v1/completions", {}),
];

const WHOLE = [
  head("GET /stream?prompt=a&max_tokens=2"),
  post("/v1/chat/completions", { messages: [{ role: "user", content: "a" }], max_tokens: 2, stream: true }),
];

/**
 * Goes once through what requests go through, so that no client waits for what the runtime loads and compiles at its
 * first use: it held the first event of the first stream back by 40 ms. Nobody sees it: `app`, which was made of `deps`,
 * only gets requests that begin no generation, and the others go to a stand-in with an engine and a ledger of its own.
 * A shutdown ends it.
 *
 * @returns what was answered, for the test that asks whether all of it was gone through
 */
export async function rehearse(app: { fetch: Handler }, deps: Deps): Promise<string> {
  const { clock, turn } = deps;
  // Nothing is waited for, and a prompt and two tokens fit whatever the service's own limit is.
  const settings = { ...deps.settings, realtime: false, maxModelLen: 100 };
  const standIn = createApp({
    engine: new SimulatedEngine(settings, clock),
    ledger: new Ledger({ clock, onEnded: () => {}, onUnexpected: () => {}, ignoreDisconnects: false }),
    clock,
    turn,
    settings,
    draining: () => false,
    onUnexpected: () => {},
    onRefused: () => {},
  });
  let text = "";
  for (const [{ fetch }, requests] of [[app, HARMLESS], [standIn, WHOLE]] as const) {
    for (const request of requests) {
      // All of an answer happens in one task here. Who comes meanwhile, a client or a signal, goes before the next.
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (deps.draining()) return text;
      text += await answer(fetch, request);
    }
  }
  return text;
}

/** What `handler` answers to `request`, over a connection that leads nowhere. */
async function answer(handler: Handler, request: string): Promise<string> {
  const arriving = [new TextEncoder().encode(request)];
  const { promise: closed, resolve: close } = Promise.withResolvers<null>();
  let text = "";
  const connection = new Connection({
    read(into) {
      const bytes = arriving.pop();
      if (bytes === undefined) return closed;
      // Each is short enough for the first read.
      into.set(bytes);
      return Promise.resolve(bytes.length);
    },
    write(bytes) {
      text += new TextDecoder().decode(bytes);
      return Promise.resolve(bytes.length);
    },
    close: () => close(null),
  }, {
    handler,
    onError: () => {},
    now: () => 0,
    headMs: Infinity,
    idleMs: Infinity,
    closing: () => false,
  });
  await connection.run();
  return text;
}

function post(path: string, body: unknown): string {
  const text = JSON.stringify(body);
  return head(`POST ${path}`, "Content-Type: application/json", `Content-Length: ${text.length}`) + text;
}

function head(asked: string, ...headers: string[]): string {
  return [`${asked} HTTP/1.1`, "Host: a", "Connection: close", ...headers, "\r\n"].join("\r\n");
}
