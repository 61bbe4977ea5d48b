import type { ChunkForm } from "./openai_chunks.ts";

const REST = '},"logprobs":null,"finish_reason":null}';

/** The chunks of `/v1/chat/completions`. */
export const chatForm: ChunkForm = {
  object: "chat.completion.chunk",
  opening: (index) => `{"index":${index},"delta":{"role":"assistant","content":""${REST}`,
  around: (index, reasoning) => [
    `{"index":${index},"delta":{"${reasoning ? "reasoning_content" : "content"}":`,
    REST,
  ],
  closing: (index, reason) => `{"index":${index},"delta":{},"logprobs":null,"finish_reason":"${reason}"}`,
};

/** The chunks of `/v1/completions`. */
export const completionForm: ChunkForm = {
  object: "text_completion",
  opening: () => undefined,
  around: (index, reasoning) =>
    reasoning ? undefined : ['{"text":', `,"index":${index},"logprobs":null,"finish_reason":null}`],
  closing: (index, reason) => `{"text":"","index":${index},"logprobs":null,"finish_reason":"${reason}"}`,
};
