import { type ChunkForm, OpenAIChunks, type OpenAIStream } from "./openai_chunks.ts";

const form: ChunkForm = {
  object: "text_completion",
  opening: () => undefined,
  around: (index, reasoning) =>
    reasoning ? undefined : ['{"text":', `,"index":${index},"logprobs":null,"finish_reason":null}`],
  closing: (index, reason) => `{"text":"","index":${index},"logprobs":null,"finish_reason":"${reason}"}`,
};

/** The stream of `/v1/completions`. */
export function openaiCompletions(stream: OpenAIStream): OpenAIChunks {
  return new OpenAIChunks(form, stream);
}
