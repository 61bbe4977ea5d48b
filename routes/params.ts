import { z } from "zod";
import type { Settings } from "../lib/config.ts";

/** The longest delay a request may ask for, in milliseconds. */
const MAX_DELAY_MS = 3_600_000;

/** Tokens of an answer when the request does not say. */
export const DEFAULT_MAX_TOKENS = 128;

/** What both own endpoints take, from a JSON body. */
export function generateParams({ maxModelLen }: Settings) {
  const tokens = `wanted a whole number from 1 to ${maxModelLen}`;
  const delay = `wanted a number of milliseconds from 0 to ${MAX_DELAY_MS}`;
  return z.object({
    prompt: z.string({ error: "wanted a text" }).min(1, "wanted a text that is not empty"),
    max_tokens: z.number({ error: tokens }).int(tokens).min(1, tokens).max(maxModelLen, tokens)
      .optional(),
    ttft_ms: z.number({ error: delay }).min(0, delay).max(MAX_DELAY_MS, delay).optional(),
    itl_ms: z.number({ error: delay }).min(0, delay).max(MAX_DELAY_MS, delay).optional(),
    fault: z.string({ error: "wanted a text like error@5" }).max(200, "wanted at most 200 characters")
      .optional(),
  }, { error: "wanted a JSON object" });
}

/** What `/stream` takes besides. */
export function streamParams(settings: Settings) {
  const tokens = "wanted a whole number from 1 to 1000";
  return generateParams(settings).extend({
    tokens_per_event: z.number({ error: tokens }).int(tokens).min(1, tokens).max(1000, tokens).default(1),
  });
}

/** The same from a query, where every value is a text. */
export function queryParams(settings: Settings) {
  const shape = streamParams(settings).shape;
  const number = <T extends z.ZodType>(schema: T) =>
    z.preprocess(
      (text) => typeof text === "string" && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text,
      schema,
    );
  return z.object({
    prompt: shape.prompt,
    fault: shape.fault,
    max_tokens: number(shape.max_tokens),
    ttft_ms: number(shape.ttft_ms),
    itl_ms: number(shape.itl_ms),
    tokens_per_event: number(shape.tokens_per_event),
  });
}

export type StreamParams = z.infer<ReturnType<typeof streamParams>>;
