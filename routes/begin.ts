import type { Context } from "hono";
import { shuttingDown, TapError } from "../lib/errors.ts";
import { checkFaults } from "../lib/engine/faults.ts";
import { grouped } from "../lib/engine/group.ts";
import { stopping } from "../lib/engine/stop.ts";
import type { EngineRequest } from "../lib/engine/engine.ts";
import type { Generation } from "../lib/stream/generation.ts";
import type { Deps, Env } from "./deps.ts";
import { DEFAULT_MAX_TOKENS, type GenerateParams, type StreamParams } from "./params.ts";
import { servedModel } from "./served_model.ts";

/** What a route asks for: the engine's request without what is derived here. */
export type Wanted =
  & Omit<EngineRequest, "id" | "key" | "promptTokens" | "openEnded" | "fault" | "maxTokens">
  & {
    /** Undefined: the client set no limit. */
    maxTokens: number | undefined;
    /**
     * Tokens of an answer without a limit, or fewer where no more fit. Absent: 128 from the simulated engine, which
     * never ends by itself; from others all that fits.
     */
    defaultMaxTokens?: number;
    fault?: string | undefined;
    streamed: boolean;
    tokensPerEvent?: number;
    /** Texts whose tokens count as the prompt's; `prompt` alone unless the request is a chat. */
    countedTexts?: readonly string[];
    /** Which of several answers to one request this is. The first bears the request's id, the others id-1, id-2 … */
    choice?: number;
  };

/** What the parameters of the own endpoints ask for. */
export function wantedOf(params: GenerateParams | StreamParams, streamed: boolean): Wanted {
  return {
    prompt: params.prompt,
    maxTokens: params.max_tokens,
    defaultMaxTokens: DEFAULT_MAX_TOKENS,
    ttftMs: params.ttft_ms,
    itlMs: params.itl_ms,
    fault: params.fault,
    ...("tokens_per_event" in params ? { tokensPerEvent: params.tokens_per_event } : {}),
    streamed,
  };
}

/** What a generation begins with, beside what was wanted. */
type Checked = Pick<EngineRequest, "fault" | "maxTokens" | "promptTokens">;

/**
 * Checks that the service takes requests and that this one can be begun: that its prompt fits, and its fault is one.
 * Throws what is wrong with it as a real status.
 */
export function check(c: Context<Env>, deps: Deps, wanted: Wanted): Checked {
  const { engine, settings } = deps;
  const { countedTexts = [wanted.prompt], streamed, defaultMaxTokens } = wanted;
  if (deps.draining()) throw shuttingDown();
  const fault = c.req.raw.headers.get("x-tokentap-fault") ?? wanted.fault ?? c.req.query("fault");
  if (!engine.simulates) {
    for (const [name, value] of Object.entries({ fault, ttft_ms: wanted.ttftMs, itl_ms: wanted.itlMs })) {
      if (value === undefined) continue;
      throw new TapError("invalid_request", `${name} is possible with the simulated engine only.`, {
        param: name,
      });
    }
  }
  // Before there is a record: a request that is written wrongly is no generation.
  if (fault !== undefined) checkFaults(fault, streamed);
  const promptTokens = countedTexts.reduce((sum, text) => sum + engine.countTokens(text), 0);
  const limit = Math.min(settings.maxModelLen, engine.contextLength ?? Infinity);
  const most = defaultMaxTokens ?? (engine.simulates ? DEFAULT_MAX_TOKENS : Infinity);
  const maxTokens = wanted.maxTokens ?? Math.max(1, Math.min(most, limit - promptTokens));
  if (promptTokens + maxTokens > limit) {
    throw new TapError(
      "context_length",
      `Prompt and max_tokens together: wanted at most ${limit} tokens, got ${promptTokens} + ${maxTokens}.`,
      { param: wanted.messages === undefined ? "prompt" : "messages" },
    );
  }
  if (wanted.minTokens !== undefined && wanted.minTokens > maxTokens) {
    throw new TapError(
      "invalid_request",
      `min_tokens: wanted at most max_tokens (${maxTokens}), got ${wanted.minTokens}.`,
      { param: "min_tokens" },
    );
  }
  return { fault, maxTokens, promptTokens };
}

/**
 * Begins the generation a request asks for: checks it, opens its record and hands it to the engine. Throws what is wrong
 * with it as a real status.
 */
export function begin(c: Context<Env>, deps: Deps, wanted: Wanted): Generation {
  const { engine, ledger } = deps;
  const checked = check(c, deps, wanted);
  const { tokensPerEvent = 1, choice = 0, streamed, defaultMaxTokens, countedTexts: _, ...asked } = wanted;
  const id = choice === 0 ? c.get("requestId") : `${c.get("requestId")}-${choice}`;
  c.set("begun", true);
  const generation = ledger.open({
    id,
    route: c.req.path,
    streamed,
    model: servedModel(deps, asked.model),
    requested: checked.maxTokens,
    promptTokens: checked.promptTokens,
  });
  const stopped = engine.remote ? engine : stopping(engine);
  return generation.start(grouped(stopped, tokensPerEvent), {
    ...asked,
    ...checked,
    openEnded: asked.maxTokens === undefined && defaultMaxTokens === undefined,
    id,
    key: c.get("clientId"),
  });
}
