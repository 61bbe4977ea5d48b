import { Hono } from "hono";
import { completionForm } from "../../lib/stream/openai_forms.ts";
import type { Deps, Env } from "../deps.ts";
import { onlyMethods } from "../errors.ts";
import { jsonBody } from "../json_body.ts";
import { answer, type AnswerForm } from "./answer.ts";
import { completionParams } from "./params.ts";

/** The OpenAI API's own default on this route. */
const DEFAULT_COMPLETION_TOKENS = 16;

const form: AnswerForm = {
  idPrefix: "cmpl-",
  object: "text_completion",
  chunks: completionForm,
  choice: (index, { text }) => ({ text, index }),
};

/** `POST /v1/completions`: the text that follows a prompt. */
export function completionsRoutes(deps: Deps): Hono<Env> {
  const { engine, settings } = deps;
  const schema = completionParams(settings, engine.remote ?? false);
  return new Hono<Env>()
    .post("/v1/completions", async (c) => {
      const params = await jsonBody(c, settings, schema);
      return await answer(c, deps, params, {
        prompt: params.prompt,
        continuation: true,
        maxTokens: params.max_tokens ?? undefined,
        defaultMaxTokens: DEFAULT_COMPLETION_TOKENS,
      }, form);
    })
    .all("/v1/completions", onlyMethods("POST"));
}
