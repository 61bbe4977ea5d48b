import { z } from "zod";
import type { ChatMessage } from "../../lib/engine/engine.ts";
import { TOO_DEEP, withinLevels } from "./extras.ts";
import { listOf, refuseAs } from "./list_of.ts";
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
  listOf(part, "wanted a text or a list of parts").optional(),
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

/** One of which everything is kept. */
const whole = z.unknown().transform((came, context): ChatMessage => {
  const { data, error } = message.safeParse(came);
  if (error) return refuseAs(context, error, came);
  if (withinLevels(came)) return { ...data, asCame: came };
  context.addIssue({ code: "custom", message: TOO_DEEP });
  return z.NEVER;
});

/**
 * The messages of a chat, each with its text in one piece, and where they go to a server of its own (`remote`), as they
 * came: a name, a call's id, or what only that server knows is a part of the conversation.
 */
export function messages(remote: boolean): z.ZodType<ChatMessage[]> {
  return listOf<ChatMessage>(remote ? whole : message, "wanted a list of messages")
    .refine((list) => list.length > 0, "wanted at least one message");
}

/** What the chat asks: its last user message, or the last of all where no user has spoken. */
export function question(messages: readonly { role: string; content: string }[]): string {
  return (messages.findLast(({ role }) => role === "user") ?? messages.at(-1)!).content;
}
