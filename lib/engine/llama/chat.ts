import { TapError } from "../../errors.ts";
import type { ChatMessage } from "../engine.ts";
import type { LlamaBinding, LlamaModel } from "./binding.ts";

/** Messages to one prompt. Throws `invalid_request` with what the template says against them. */
export function chatRenderer(
  binding: LlamaBinding,
  model: LlamaModel,
  template: string | undefined,
): (messages: readonly ChatMessage[]) => string {
  if (template === undefined) {
    return (messages) =>
      [...messages.map(({ role, content }) => `${role}: ${content}\n`), "assistant:"].join("");
  }
  const renderer = new binding.AddonJinjaRenderer(template);
  const name = (token: number | undefined) =>
    token === undefined || token < 0 ? "" : model.getTokenString(token) ?? "";
  const [bos_token, eos_token] = [name(model.tokenBos()), name(model.tokenEos())];
  return (messages) => {
    try {
      return renderer.render({ messages: [...messages], add_generation_prompt: true, bos_token, eos_token });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new TapError("invalid_request", `The model's chat template refuses these messages: ${reason}`, {
        param: "messages",
        cause: error,
      });
    }
  };
}
