import { z } from "zod";

/** A parameter that would change the answer in a way that is not possible: only values that ask for nothing pass. */
function only(wanted: string, asksNothing: (value: unknown) => boolean) {
  return z.unknown().refine(
    (value) => value === undefined || value === null || asksNothing(value),
    `would change the answer and is not supported; wanted ${wanted}`,
  ).optional();
}

const never = () => false;
const isFalse = (value: unknown) => value === false;
const isZero = (value: unknown) => value === 0 || value === false;
const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;
const isEmptyObject = (value: unknown) => typeof value === "object" && Object.keys(value!).length === 0;

/** Tool calls, as a parameter and in the messages before. */
export const noCalls = only("none", isEmptyList);

/**
 * Parameters of the OpenAI API and of vLLM's own that would give the answer a form that is not written here, whichever
 * engine makes its text.
 */
export const refused = {
  tools: only("no tools", isEmptyList),
  tool_choice: only('"none"', (value) => value === "none"),
  functions: only("no functions", isEmptyList),
  function_call: only('"none"', (value) => value === "none"),
  logprobs: only("false", isFalse),
  top_logprobs: only("0", isZero),
  prompt_logprobs: only("null", never),
  audio: only("null", never),
  modalities: only('["text"]', (value) => Array.isArray(value) && value.every((each) => each === "text")),
  web_search_options: only("null", never),
  best_of: only("1", (value) => value === 1),
  use_beam_search: only("false", isFalse),
  echo: only("false", isFalse),
};

/**
 * Those that change the text alone, which no engine in this process can do; an upstream server is asked for them. What
 * is harmless (user, metadata, store, service_tier …) has no entry.
 */
export const refusedHere = {
  logit_bias: only("none", isEmptyObject),
  response_format: only(
    '{"type":"text"}',
    (value) => typeof value === "object" && (value as { type?: unknown }).type === "text",
  ),
  structured_outputs: only("null", never),
  guided_json: only("null", never),
  guided_regex: only("null", never),
  guided_choice: only("null", never),
  guided_grammar: only("null", never),
  length_penalty: only("1", (value) => value === 1),
  bad_words: only("none", isEmptyList),
  allowed_token_ids: only("null", never),
  logits_processors: only("none", isEmptyList),
  suffix: only("none", (value) => value === ""),
  include_stop_str_in_output: only("false", isFalse),
  stop_token_ids: only("none", isEmptyList),
};
