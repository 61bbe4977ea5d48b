import { z } from "zod";
import { noCalls } from "./refused.ts";

const ROLES = ["system", "developer", "user", "assistant", "tool", "function"] as const;

const text = z.string({ error: "wanted a text" });

const part = z.object({
  type: z.enum(["text", "refusal"], { error: 'wanted "text"; images, sound and files are not supported' }),
  text: text.optional(),
  refusal: text.optional(),
}, { error: "wanted an object" }).transform(({ type, text, refusal }, context) => {
  const said = type === "text" ? text : refusal;
  if (said !== undefined) return said;
  context.addIssue({ code: "custom", path: [type], message: "wanted a text" });
  return z.NEVER;
});

/** A message's text, also where it comes in parts: those are put on lines of their own, as vLLM does. */
const content = z.preprocess(
  (came) => typeof came === "string" ? [{ type: "text", text: came }] : came ?? undefined,
  z.array(part, { error: "wanted a text or a list of parts" }).optional(),
).transform((parts) => parts?.join("\n"));

const message = z.object({
  role: z.enum(ROLES, { error: `wanted one of ${ROLES.join(", ")}` }),
  content,
  tool_calls: noCalls,
  function_call: noCalls,
}, { error: "wanted an object" }).transform(({ role, content }, context) => {
  // An assistant that only called a tool has said nothing; every other message says something.
  if (content === undefined && role !== "assistant") {
    context.addIssue({ code: "custom", path: ["content"], message: "wanted a text or a list of parts" });
    return z.NEVER;
  }
  return { role, content: content ?? "" };
});

/** The messages of a chat, each with its text in one piece. */
export const messages = z.array(message, { error: "wanted a list of messages" })
  .min(1, "wanted at least one message");

/** What the chat asks: its last user message, or the last of all where no user has spoken. */
export function question(messages: readonly { role: string; content: string }[]): string {
  return (messages.findLast(({ role }) => role === "user") ?? messages.at(-1)!).content;
}
