import { z } from "zod";

/** How deep a field that is only passed on may be nested: more than any schema needs, and less than a stack holds. */
const MOST_LEVELS = 64;

/** What a client asks for beyond what is known here, by its names. */
export type Extras = Readonly<Record<string, unknown>>;

/**
 * A schema for an object of `shape` whose result has among it `extras`: the fields that `shape` does not know, for an
 * upstream server, which may. Where nobody is to get them (`keep` is false) they are passed over, as vLLM does: clients
 * send fields of their own.
 */
export function withExtras<Shape extends z.ZodRawShape>(shape: Shape, keep: boolean) {
  return z.looseObject(shape, { error: "wanted a JSON object" }).transform((all, context) => {
    const extras: Record<string, unknown> = {};
    for (const [name, value] of keep ? Object.entries(all) : []) {
      if (Object.hasOwn(shape, name)) continue;
      extras[name] = value;
      if (withinLevels(value)) continue;
      const message = `wanted at most ${MOST_LEVELS} levels of lists and objects, got more`;
      context.addIssue({ code: "custom", path: [name], message });
    }
    return { ...all as z.infer<z.ZodObject<Shape>>, extras: extras as Extras };
  });
}

/** Not by recursion, which is what it is to protect. */
function withinLevels(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth < MOST_LEVELS; depth++) {
    level = level.flatMap((each) => typeof each === "object" && each !== null ? Object.values(each) : []);
    if (level.length === 0) return true;
  }
  return false;
}
