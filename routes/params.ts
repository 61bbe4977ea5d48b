import { z } from "zod";
import type { Settings } from "../lib/config.ts";

/** The longest delay a request may ask for, in milliseconds. */
const MAX_DELAY_MS = 3_600_000;

/** Tokens of an answer when the request does not say. */
export const DEFAULT_MAX_TOKENS = 128;

/** A number of a request: `.optional()` in our own form, `.nullish()` in that of OpenAI. */
export function within(least: number, most: number, what = "number") {
  const wanted = `wanted a ${what} from ${least} to ${most}`;
  return z.number({ error: wanted }).min(least, wanted).max(most, wanted);
}

/** A whole number of a request. */
export function whole(least: number, most: number) {
  const wanted = `wanted a whole number from ${least} to ${most}`;
  return z.number({ error: wanted }).int(wanted).min(least, wanted).max(most, wanted);
}

/** A text that says something. */
export function text(error = "wanted a text") {
  return z.string({ error }).min(1, "wanted a text that is not empty");
}

/** What `max()` of a text takes. */
export function atMost(characters: number): [most: number, wanted: string] {
  return [characters, `wanted at most ${characters} characters`];
}

/** What both own endpoints take, from a JSON body. */
export function generateParams({ maxModelLen }: Settings) {
  const delay = within(0, MAX_DELAY_MS, "number of milliseconds").optional();
  return z.object({
    prompt: text(),
    max_tokens: whole(1, maxModelLen).optional(),
    ttft_ms: delay,
    itl_ms: delay,
    fault: z.string({ error: "wanted a text like error@5" }).max(...atMost(200)).optional(),
  }, { error: "wanted a JSON object" });
}

/** What `/stream` takes besides. */
export function streamParams(settings: Settings) {
  return generateParams(settings).extend({ tokens_per_event: whole(1, 1000).default(1) });
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

export type GenerateParams = z.infer<ReturnType<typeof generateParams>>;
export type StreamParams = z.infer<ReturnType<typeof streamParams>>;
