import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { Pieces } from "../../lib/engine/llama/pieces.ts";

const COLON = ":".charCodeAt(0);

Deno.test("any bytes, cut into any tokens, give the text that a decoder makes of all of them", () => {
  // Bytes that are no UTF-8 are as frequent as those that are, and some runs are long.
  const byte = fc.oneof(
    fc.integer({ min: 0, max: 255 }),
    fc.constantFrom(0x80, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x41),
  );
  const token = fc.array(byte, { minLength: 1, maxLength: 5 });
  fc.assert(fc.property(fc.array(token, { maxLength: 40 }), (tokens) => {
    const decode = (bytes: number[]) =>
      new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
    const pieces = new Pieces(
      (ids) => decode([...ids].flatMap((id) => id === tokens.length ? [COLON] : tokens[id]!)),
      tokens.length,
    );
    const got = [...tokens.map((_, id) => pieces.push(id)), pieces.end()];
    assertEquals(got.join(""), decode(tokens.flat()));
  }));
});
