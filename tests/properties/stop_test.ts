import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { runStopping } from "../helpers/stopping.ts";

Deno.test("the text ends at the stop string that is complete first, wherever the tokens are cut", async () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(letters, { maxLength: 12 }),
      fc.array(letters, { minLength: 1, maxLength: 4 }),
      async (tokens, stop) => {
        const out = await runStopping(tokens, { stop });
        assertEquals(out.tokens.map(({ text }) => text).join(""), reference(tokens.join(""), stop));
      },
    ),
    { numRuns: 500 },
  );
});

/** Character by character, as the definition says. */
function reference(text: string, stop: string[]): string {
  for (let end = 1; end <= text.length; end++) {
    const ending = stop.filter((each) => text.slice(0, end).endsWith(each));
    if (ending.length > 0) return text.slice(0, end - Math.max(...ending.map(({ length }) => length)));
  }
  return text;
}
