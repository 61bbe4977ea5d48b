import type { Context } from "hono";
import { publicError, TapError } from "../../lib/errors.ts";
import { streamBody } from "../../lib/stream/body.ts";
import { Choices } from "../../lib/stream/choices.ts";
import { collect, type Collected } from "../../lib/stream/collect.ts";
import { Generation } from "../../lib/stream/generation.ts";
import { type ChunkForm, OpenAIChunks, openaiUsage } from "../../lib/stream/openai_chunks.ts";
import { SSE_HEADERS } from "../../lib/stream/sse.ts";
import { begin, type Wanted } from "../begin.ts";
import type { Deps, Env } from "../deps.ts";
import { modelFor } from "../served_model.ts";
import { headReady } from "../streaming.ts";
import type { SharedParams } from "./params.ts";

/** How one of the two routes writes its answers. */
export interface AnswerForm {
  /** What stands before the request's id: `chatcmpl-`. */
  idPrefix: string;
  /** The `object` of a reply that is not streamed. */
  object: string;
  chunks: ChunkForm;
  /** One answer of a reply that is not streamed, without what both routes have. */
  choice(index: number, all: Collected): Record<string, unknown>;
}

/** What each of the two routes takes from its body in a way of its own. */
type Asked = Pick<
  Wanted,
  | "prompt"
  | "messages"
  | "continuation"
  | "countedTexts"
  | "maxTokens"
  | "completionLimit"
  | "defaultMaxTokens"
>;

/** Answers a request, streamed or not, with as many generations as it wants answers. */
export async function answer(
  c: Context<Env>,
  deps: Deps,
  params: SharedParams,
  asked: Asked,
  form: AnswerForm,
): Promise<Response> {
  const model = modelFor(deps, params.model);
  const generations = beginAll(c, deps, params, asked);
  const records = generations.map(({ record }) => record);
  const id = form.idPrefix + c.get("requestId");
  const created = Math.floor(Date.now() / 1000);

  const source = generations.length === 1 ? generations[0] : new Choices(generations);

  if (params.stream) {
    await allReady(c, generations);
    const format = new OpenAIChunks(form.chunks, {
      id,
      created,
      model,
      records,
      includeUsage: params.stream_options?.include_usage ?? false,
      continuousUsage: params.stream_options?.continuous_usage_stats ?? false,
    });
    const body = streamBody(source, format, deps);
    return new Response(body, { headers: SSE_HEADERS });
  }

  const { signal } = c.req.raw;
  const answers = await collect(source, deps.turn, signal, { answers: generations.length });
  const choices = answers.map((all, index) => ({
    ...form.choice(index, all),
    logprobs: null,
    finish_reason: records[index].finishReason ?? "stop",
  }));
  return c.json({ id, object: form.object, created, model, choices, usage: openaiUsage(records) });
}

/** Begins one generation for each answer, or none: what refuses one of them ends those that have begun. */
function beginAll(
  c: Context<Env>,
  deps: Deps,
  params: SharedParams,
  asked: Asked,
): Generation[] {
  const wanted = {
    ...asked,
    ...(deps.engine.remote && params.model ? { model: params.model } : {}),
    ...(deps.engine.remote ? { extras: params.extras } : {}),
    streamed: params.stream ?? false,
    fault: params.fault,
    ttftMs: params.ttft_ms,
    itlMs: params.itl_ms,
    tokensPerEvent: params.tokens_per_event,
    temperature: params.temperature ?? undefined,
    topP: params.top_p ?? undefined,
    topK: params.top_k ?? undefined,
    minP: params.min_p ?? undefined,
    presencePenalty: params.presence_penalty ?? undefined,
    frequencyPenalty: params.frequency_penalty ?? undefined,
    repetitionPenalty: params.repetition_penalty ?? undefined,
    stop: params.stop ?? undefined,
    minTokens: params.min_tokens ?? undefined,
    ignoreEos: params.ignore_eos ?? undefined,
    continuousUsage: params.stream_options?.continuous_usage_stats ?? undefined,
  };
  refuseMoreThanFit(deps, params.n ?? 1);
  const generations: Generation[] = [];
  try {
    for (let choice = 0; choice < (params.n ?? 1); choice++) {
      generations.push(begin(c, deps, { ...wanted, choice, seed: seedOf(deps, params.seed, choice) }));
    }
    return generations;
  } catch (error) {
    Generation.failAll(generations, publicError(error));
    throw error;
  }
}

/** More answers at once than slots and queue hold would be refused with 429 for ever, which asks to try again. */
function refuseMoreThanFit({ engine, settings }: Deps, answers: number): void {
  const slots = engine.slots?.().max;
  if (slots === undefined) return;
  const most = slots + settings.maxWaitingQueueLength;
  if (answers <= most) return;
  throw new TapError(
    "invalid_request",
    `n: wanted at most ${most}, as many as slots and queue hold, got ${answers}.`,
    { param: "n" },
  );
}

/**
 * The seed of one of several answers, which must not all be the same. An upstream that was given none draws its own;
 * ours draws from the settings' seed, which the first answer shares with a request for one.
 */
function seedOf({ engine, settings }: Deps, seed: number | null | undefined, choice: number) {
  if (seed !== null && seed !== undefined) {
    // Every one of them a number that a request may name.
    return Number.isSafeInteger(seed + choice) ? seed + choice : seed - choice;
  }
  return choice === 0 || engine.remote ? undefined : settings.seed + choice;
}

/** Begun from the last on, so that a client that leaves ends them in that order; what refuses one of them ends all. */
async function allReady(c: Context<Env>, generations: Generation[]): Promise<void> {
  try {
    await Promise.all(generations.toReversed().map((generation) => headReady(c, generation)));
  } catch (error) {
    Generation.failAll(generations, publicError(error));
    throw error;
  }
}
