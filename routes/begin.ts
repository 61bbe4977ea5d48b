import type { Context } from "hono";
import { quote, TapError } from "../lib/errors.ts";
import { refuseStreamFaults } from "../lib/engine/faults.ts";
import { grouped } from "../lib/engine/group.ts";
import { stopping } from "../lib/engine/stop.ts";
import type { EngineRequest } from "../lib/engine/engine.ts";
import type { Generation } from "../lib/stream/generation.ts";
import type { Deps, Env } from "./deps.ts";
import { DEFAULT_MAX_TOKENS } from "./params.ts";
import { UNWATCHED_MS } from "./whole.ts";

/**
 * How long the head of a stream is held back for an engine that may still refuse, in milliseconds: within it a
 * refusal is a real status, after it an event.
 */
const HEAD_WAIT_MS = 250;

/** What a route asks for: the engine's request without what is derived here. */
export type Wanted =
  & Omit<EngineRequest, "id" | "key" | "promptTokens" | "openEnded" | "fault" | "maxTokens">
  & {
    /** Undefined: 128 from the simulated engine, which never ends by itself; from others all that fits. */
    maxTokens: number | undefined;
    fault?: string | undefined;
    streamed: boolean;
    tokensPerEvent?: number;
    /** Texts whose tokens count as the prompt's; `prompt` alone unless the request is a chat. */
    countedTexts?: readonly string[];
    /** Which of several answers to one request this is. The first bears the request's id, the others id-1, id-2 … */
    choice?: number;
  };

/**
 * Begins the generation a request asks for: checks that the service takes requests and that the prompt fits, opens
 * its record and hands it to the engine. Throws what is wrong with it as a real status.
 */
export function begin(c: Context<Env>, deps: Deps, wanted: Wanted): Generation {
  const { engine, ledger, settings } = deps;
  const { streamed, tokensPerEvent = 1, countedTexts = [wanted.prompt], choice = 0, ...asked } = wanted;
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
  if (fault !== undefined && !streamed) refuseStreamFaults(fault);
  const promptTokens = countedTexts.reduce((sum, text) => sum + engine.countTokens(text), 0);
  const limit = Math.min(settings.maxModelLen, engine.contextLength ?? Infinity);
  const most = engine.name === "simulated" ? DEFAULT_MAX_TOKENS : Infinity;
  const maxTokens = asked.maxTokens ?? Math.max(1, Math.min(most, limit - promptTokens));
  if (promptTokens + maxTokens > limit) {
    throw new TapError(
      "context_length",
      `Prompt and max_tokens together: wanted at most ${limit} tokens, got ${promptTokens} + ${maxTokens}.`,
      { param: asked.messages === undefined ? "prompt" : "messages" },
    );
  }
  const id = choice === 0 ? c.get("requestId") : `${c.get("requestId")}-${choice}`;
  const generation = ledger.open({
    id,
    route: c.req.path.length > 60 ? quote(c.req.path) : c.req.path,
    streamed,
    model: asked.model ?? settings.model,
    requested: maxTokens,
    promptTokens,
  });
  // An upstream server looks for stop strings itself.
  const stopped = engine.name === "upstream" ? engine : stopping(engine);
  return generation.start(grouped(stopped, tokensPerEvent), {
    ...asked,
    maxTokens,
    openEnded: asked.maxTokens === undefined,
    id,
    key: c.get("clientId"),
    promptTokens,
    ...(fault === undefined ? {} : { fault }),
  } as EngineRequest);
}

/**
 * Waits until the engine has said whether the generation starts, but not longer than a quarter of a second, and not
 * for a client that leaves meanwhile: until the response is returned, the request's signal is all that tells of that,
 * and to an unwatched client (see `Env`) not even it. Throws the engine's refusal.
 */
export async function headReady(c: Context<Env>, generation: Generation): Promise<void> {
  const { started } = generation;
  if (started === undefined) return;
  // Read only here: Deno makes the signal when it is first asked for.
  const { signal } = c.req.raw;
  const leave = () => generation.abort();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) =>
    timer = setTimeout(resolve, c.get("unwatched") ? UNWATCHED_MS : HEAD_WAIT_MS)
  );
  try {
    await Promise.race([started, patience]);
  } catch (error) {
    // The client has left, and the engine that ends on that has not failed.
    if (signal.aborted) return;
    // Once more through the generation, so that its record has the failure too.
    generation.poll(() => {});
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  }
}
