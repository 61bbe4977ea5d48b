import { z } from "zod";
import type { EngineRequest } from "../../lib/engine/engine.ts";

/** How deep a field that is only passed on may be nested: more than any schema needs, and less than a stack holds. */
const MAX_LEVELS = 64;
/** Fields of a body, known or not. A megabyte holds ninety thousand, which keep the event loop for a second. */
const MAX_FIELDS = 256;
/** Of a name that only its client knows, in a message. */
const MAX_NAME_LENGTH = 80;
export const TOO_DEEP = `wanted at most ${MAX_LEVELS} levels of lists and objects, got more`;

export type Extras = NonNullable<EngineRequest["extras"]>;

/**
 * A schema for an object of `shape` whose result has among it `extras`: the fields that `shape` does not know, for an
 * upstream server, which may. Where nobody is to get them (`keep` is false) there are none, as with vLLM: clients send
 * fields of their own.
 */
export function withExtras<Shape extends z.ZodRawShape>(shape: Shape, keep: boolean) {
  const object = keep ? z.looseObject as typeof z.object : z.object;
  const few = (came: unknown, context: z.RefinementCtx) => {
    const fields = typeof came === "object" && came !== null ? Object.keys(came).length : 0;
    if (fields <= MAX_FIELDS) return came;
    context.addIssue({ code: "custom", message: `wanted at most ${MAX_FIELDS} fields, got ${fields}` });
    return z.NEVER;
  };
  return z.preprocess(few, object(shape, { error: "wanted a JSON object" })).transform((all, context) => {
    const unknown = Object.entries(all).filter(([name]) => !Object.hasOwn(shape, name));
    for (const [name, value] of unknown) {
      if (withinLevels(value)) continue;
      context.addIssue({ code: "custom", path: [name.slice(0, MAX_NAME_LENGTH)], message: TOO_DEEP });
    }
    return { ...all, extras: Object.fromEntries(unknown) as Extras };
  });
}

/** Not by recursion, which is what it is to protect. */
export function withinLevels(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth < MAX_LEVELS; depth++) {
    level = level.flatMap((each) => typeof each === "object" && each !== null ? Object.values(each) : []);
    if (level.length === 0) return true;
  }
  return false;
}
