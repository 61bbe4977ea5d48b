import { assertEquals, assertGreater } from "@std/assert";
import fc from "fast-check";
import { countPieces, generate } from "../../lib/engine/vocabulary.ts";

const prompts = fc.string({ unit: "binary", maxLength: 60 });
const seeds = fc.integer({ min: 0, max: 0xffff_ffff });

Deno.test("the first m of n tokens are the m tokens, for any prompt and seed", () => {
  fc.assert(fc.property(prompts, seeds, fc.nat(80), fc.nat(80), (prompt, seed, m, more) => {
    const whole = generate(prompt, m + more, seed);
    assertEquals(whole.length, m + more);
    assertEquals(generate(prompt, m, seed), whole.slice(0, m));
  }));
});

Deno.test("a token is whole characters and never empty", () => {
  fc.assert(fc.property(prompts, seeds, (prompt, seed) => {
    for (const token of generate(prompt, 40, seed)) {
      assertGreater(token.length, 0);
      assertEquals(token.isWellFormed(), true);
    }
  }));
});

Deno.test("a text is at most as many pieces as it has code units, and joining two adds up to no more than both", () => {
  fc.assert(fc.property(prompts, prompts, (a, b) => {
    const pieces = countPieces(a);
    assertEquals(pieces <= a.length && (pieces > 0) === (a.length > 0), true);
    assertEquals(countPieces(a + b) <= pieces + countPieces(b) + 1, true);
  }));
});
