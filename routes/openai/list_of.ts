import { z } from "zod";

/** Each good item takes 8 µs to be checked, and a body of a megabyte holds thirty thousand. */
const MAX_ITEMS = 4096;

/**
 * A list whose first wrong item ends the check. A body of a megabyte holds half a million items: zod would write an issue
 * for each, which keeps the event loop for seconds, and what is told is the first.
 */
export function listOf<Item>(item: z.ZodType<Item>, wanted: string): z.ZodType<Item[]> {
  return z.array(z.unknown(), { error: wanted }).transform((items, context) => {
    if (items.length > MAX_ITEMS) {
      context.addIssue({
        code: "custom",
        message: `wanted at most ${MAX_ITEMS} items, got ${items.length}`,
      });
      return z.NEVER;
    }
    const good: Item[] = [];
    for (let index = 0; index < items.length; index++) {
      const { data, error } = item.safeParse(items[index]);
      if (error) return refuseAs(context, error, items[index], [index]);
      good.push(data);
    }
    return good;
  });
}

/** Refuses what a transform was given with the first issue of an inner check of it, or of what lies at `path` in it. */
export function refuseAs(
  context: z.RefinementCtx,
  { issues: [issue] }: z.ZodError,
  came: unknown,
  path: PropertyKey[] = [],
): never {
  context.issues.push({ ...issue, path: [...path, ...issue.path], input: came } as z.core.$ZodRawIssue);
  return z.NEVER;
}
