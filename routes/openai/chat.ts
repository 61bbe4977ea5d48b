import { Hono } from "hono";
import { chatForm } from "../../lib/stream/openai_forms.ts";
import type { Deps, Env } from "../deps.ts";
import { onlyMethods } from "../errors.ts";
import { jsonBody } from "../json_body.ts";
import { answer, type AnswerForm } from "./answer.ts";
import { question } from "./messages.ts";
import { chatParams } from "./params.ts";

const form: AnswerForm = {
  idPrefix: "chatcmpl-",
  object: "chat.completion",
  chunks: chatForm,
  choice: (index, { text, reasoning }) => ({
    index,
    message: {
      role: "assistant",
      content: text,
      refusal: null,
      ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    },
  }),
};

/** `POST /v1/chat/completions`: the answer to the last user message; the tokens of all messages count. */
export function chatRoutes(deps: Deps): Hono<Env> {
  const { engine, settings } = deps;
  const schema = chatParams(settings, engine.remote ?? false);
  return new Hono<Env>()
    .post("/v1/chat/completions", async (c) => {
      const params = await jsonBody(c, settings, schema);
      const { messages } = params;
      return await answer(c, deps, params, {
        prompt: question(messages),
        messages,
        countedTexts: messages.map(({ content }) => content),
        maxTokens: params.max_tokens ?? undefined,
        completionLimit: params.completion_limit,
      }, form);
    })
    .all("/v1/chat/completions", onlyMethods("POST"));
}
