import type { Context } from "hono";
import { quote, TapError } from "../lib/errors.ts";
import { grouped } from "../lib/engine/group.ts";
import type { EngineRequest } from "../lib/engine/engine.ts";
import type { Generation } from "../lib/stream/generation.ts";
import type { Deps, Env } from "./deps.ts";

/**
 * How long the head of a stream is held back for an engine that may still refuse, in milliseconds: within it a
 * refusal is a real status, after it an event.
 */
const HEAD_WAIT_MS = 250;

/** What a route asks for: the engine's request without what is derived here. */
export type Wanted = Omit<EngineRequest, "id" | "key" | "promptTokens" | "fault"> & {
  fault?: string | undefined;
  streamed: boolean;
  tokensPerEvent?: number;
  /** Text whose tokens count as the prompt's; `prompt` unless the request is a chat. */
  countedText?: string;
};

/**
 * Begins the generation a request asks for: checks that the service takes requests and that the prompt fits, opens
 * its record and hands it to the engine. Throws what is wrong with it as a real status.
 */
export function begin(c: Context<Env>, deps: Deps, wanted: Wanted): Generation {
  const { engine, ledger, settings } = deps;
  const { streamed, tokensPerEvent = 1, countedText = wanted.prompt, ...asked } = wanted;
  if (deps.draining()) throw new TapError("shutting_down", "The server is shutting down.", { retryAfter: 1 });
  const fault = c.req.raw.headers.get("x-tokentap-fault") ?? asked.fault;
  if (engine.name !== "simulated") {
    for (const [name, value] of Object.entries({ fault, ttft_ms: asked.ttftMs, itl_ms: asked.itlMs })) {
      if (value === undefined) continue;
      throw new TapError("invalid_request", `${name} is possible with the simulated engine only.`, {
        param: name,
      });
    }
  }
  const promptTokens = engine.countTokens(countedText);
  if (promptTokens + asked.maxTokens > settings.maxModelLen) {
    throw new TapError(
      "context_length",
      `Prompt and max_tokens together: wanted at most ${settings.maxModelLen} tokens, ` +
        `got ${promptTokens} + ${asked.maxTokens}.`,
      { param: "prompt" },
    );
  }
  const id = c.get("requestId");
  const generation = ledger.open({
    id,
    route: c.req.path.length > 60 ? quote(c.req.path) : c.req.path,
    streamed,
    model: settings.model,
    requested: asked.maxTokens,
    promptTokens,
  });
  return generation.start(grouped(engine, tokensPerEvent), {
    ...asked,
    id,
    key: c.get("clientId"),
    promptTokens,
    ...(fault === undefined ? {} : { fault }),
  } as EngineRequest);
}

/**
 * Waits until the engine has said whether the generation starts, but not longer than a quarter of a second, and not
 * for a client that leaves meanwhile: until the response is returned, `signal` is all that tells of that.
 * Throws the engine's refusal.
 */
export async function headReady(generation: Generation, signal: AbortSignal): Promise<void> {
  const { started } = generation;
  if (started === undefined) return;
  const leave = () => generation.abort();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) => timer = setTimeout(resolve, HEAD_WAIT_MS));
  try {
    await Promise.race([started, patience]);
  } catch (error) {
    // Once more through the generation, so that its record has the failure too.
    generation.poll(() => {});
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  }
}
