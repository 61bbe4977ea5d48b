import { z } from "zod";
import type { Settings } from "../../lib/config.ts";
import { streamParams } from "../params.ts";
import { type Extras, withExtras } from "./extras.ts";
import { messages } from "./messages.ts";
import { refused, refusedHere } from "./refused.ts";

/** Each answer is a generation with a slot of its own. */
const MAX_CHOICES = 8;
const MAX_STOP_STRINGS = 4;
const MAX_STOP_LENGTH = 1024;

function within(least: number, most: number) {
  const wanted = `wanted a number from ${least} to ${most}`;
  return z.number({ error: wanted }).min(least, wanted).max(most, wanted).nullish();
}

function whole(least: number, most: number) {
  const wanted = `wanted a whole number from ${least} to ${most}`;
  return z.number({ error: wanted }).int(wanted).min(least, wanted).max(most, wanted).nullish();
}

function flag() {
  return z.boolean({ error: "wanted true or false" }).nullish();
}

const stopString = z.string({ error: "wanted a text" }).min(1, "wanted a text that is not empty")
  .max(MAX_STOP_LENGTH, `wanted at most ${MAX_STOP_LENGTH} characters`);

const stop = z.preprocess(
  (came) => typeof came === "string" ? [came] : came,
  z.array(stopString, { error: "wanted a text or a list of texts" })
    .max(MAX_STOP_STRINGS, `wanted at most ${MAX_STOP_STRINGS} stop strings`).nullish(),
);

/** What both routes take. What is known to change the answer, and cannot here, is refused by name. */
function sharedShape(settings: Settings, remote: boolean) {
  const { ttft_ms, itl_ms, fault, tokens_per_event } = streamParams(settings).shape;
  return {
    model: z.string({ error: "wanted a text" }).min(1, "wanted a text that is not empty")
      .max(256, "wanted at most 256 characters").nullish(),
    max_tokens: whole(1, settings.maxModelLen),
    min_tokens: whole(0, settings.maxModelLen),
    ignore_eos: flag(),
    n: whole(1, MAX_CHOICES),
    seed: whole(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
    stop,
    stream: flag(),
    stream_options: z.object({ include_usage: flag(), continuous_usage_stats: flag() }, {
      error: "wanted an object",
    }).nullish(),
    temperature: within(0, 2),
    top_p: within(0, 1),
    top_k: whole(-1, 1_000_000),
    min_p: within(0, 1),
    presence_penalty: within(-2, 2),
    frequency_penalty: within(-2, 2),
    repetition_penalty: within(0.01, 100),
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
    max_completion_tokens: whole(1, settings.maxModelLen),
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
      z.string({ error: onePrompt }).min(1, "wanted a text that is not empty"),
    ),
  };
  return withExtras(shape, remote).superRefine(together);
}

/** The parameters that both routes share. */
export type SharedParams = Shared & { extras: Extras };
