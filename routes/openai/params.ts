import { z } from "zod";
import type { Settings } from "../../lib/config.ts";
import { atMost, streamParams, text, whole, within } from "../params.ts";
import { type Extras, withExtras } from "./extras.ts";
import { messages } from "./messages.ts";
import { refused, refusedHere } from "./refused.ts";

/** Each answer is a generation with a slot of its own. */
const MAX_CHOICES = 8;
const MAX_STOP_STRINGS = 4;
const MAX_STOP_LENGTH = 1024;

function flag() {
  return z.boolean({ error: "wanted true or false" }).nullish();
}

const stop = z.preprocess(
  (came) => typeof came === "string" ? [came] : came,
  z.array(text().max(...atMost(MAX_STOP_LENGTH)), { error: "wanted a text or a list of texts" })
    .max(MAX_STOP_STRINGS, `wanted at most ${MAX_STOP_STRINGS} stop strings`).nullish(),
);

/** What both routes take. What is known to change the answer, and cannot here, is refused by name. */
function sharedShape(settings: Settings, remote: boolean) {
  const { ttft_ms, itl_ms, fault, tokens_per_event } = streamParams(settings).shape;
  return {
    model: text().max(...atMost(256)).nullish(),
    max_tokens: whole(1, settings.maxModelLen).nullish(),
    min_tokens: whole(0, settings.maxModelLen).nullish(),
    ignore_eos: flag(),
    n: whole(1, MAX_CHOICES).nullish(),
    seed: whole(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER).nullish(),
    stop,
    stream: flag(),
    stream_options: z.object({ include_usage: flag(), continuous_usage_stats: flag() }, {
      error: "wanted an object",
    }).nullish(),
    temperature: within(0, 2).nullish(),
    top_p: within(0, 1).nullish(),
    top_k: whole(-1, 1_000_000).nullish(),
    min_p: within(0, 1).nullish(),
    presence_penalty: within(-2, 2).nullish(),
    frequency_penalty: within(-2, 2).nullish(),
    repetition_penalty: within(0.01, 100).nullish(),
    ttft_ms,
    itl_ms,
    fault,
    tokens_per_event,
    ...refused,
    ...(remote ? {} : refusedHere),
  };
}

type Shared = z.infer<z.ZodObject<ReturnType<typeof sharedShape>>>;

/** What no single field can tell. */
function together(
  { stream, stream_options }: Pick<Shared, "stream" | "stream_options">,
  context: z.RefinementCtx,
): void {
  if (stream_options && !stream) {
    context.addIssue({
      code: "custom",
      path: ["stream_options"],
      message: "possible only with stream: true",
    });
  }
}

/** The body of `POST /v1/chat/completions`; `max_tokens` is already the one that counts. */
export function chatParams(settings: Settings, remote: boolean) {
  const shape = {
    ...sharedShape(settings, remote),
    messages: messages(remote),
    max_completion_tokens: whole(1, settings.maxModelLen).nullish(),
  };
  return withExtras(shape, remote)
    .transform(({ max_completion_tokens, ...params }) => ({
      ...params,
      max_tokens: max_completion_tokens ?? params.max_tokens,
      completion_limit: (max_completion_tokens ?? null) !== null,
    }))
    .superRefine(together);
}

const onePrompt = "wanted a text, or a list of one text; token numbers are not possible here";

/** The body of `POST /v1/completions`. */
export function completionParams(settings: Settings, remote: boolean) {
  const shape = {
    ...sharedShape(settings, remote),
    prompt: z.preprocess(
      (came) => Array.isArray(came) && came.length === 1 ? came[0] : came,
      text(onePrompt),
    ),
  };
  return withExtras(shape, remote).superRefine(together);
}

/** The parameters that both routes share. */
export type SharedParams = Shared & { extras: Extras };
