import { type ChunkForm, OpenAIChunks, type OpenAIStream } from "./openai_chunks.ts";

const REST = '},"logprobs":null,"finish_reason":null}';

const form: ChunkForm = {
  object: "chat.completion.chunk",
  opening: (index) => `{"index":${index},"delta":{"role":"assistant","content":""${REST}`,
  around: (index, reasoning) => [
    `{"index":${index},"delta":{"${reasoning ? "reasoning_content" : "content"}":`,
    REST,
  ],
  closing: (index, reason) => `{"index":${index},"delta":{},"logprobs":null,"finish_reason":"${reason}"}`,
};

/** The stream of `/v1/chat/completions`. */
export function openaiChat(stream: OpenAIStream): OpenAIChunks {
  return new OpenAIChunks(form, stream);
}
