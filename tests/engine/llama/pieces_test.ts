import { assert, assertEquals } from "@std/assert";
import { Pieces } from "../../../lib/engine/llama/pieces.ts";
import { ScriptedBinding } from "./scripted_binding.ts";

const { model } = new ScriptedBinding({ answer: () => 0 });
const COLON = ":".charCodeAt(0);

/** The pieces of `bytes`, a token each. */
function piecesOf(bytes: Iterable<number>): string[] {
  const pieces = new Pieces((tokens) => model.detokenize(tokens), COLON);
  return [...Array.from(bytes, (byte) => pieces.push(byte)), pieces.end()];
}

Deno.test("a character whose bytes are split over tokens is given whole, with its last byte", () => {
  const got = piecesOf(new TextEncoder().encode("a한🙂"));
  assertEquals(got, ["a", "", "", "한", "", "", "", "🙂", ""]);
});

Deno.test("a leading space is kept", () => {
  assertEquals(piecesOf([32, 97]).join(""), " a");
});

Deno.test("a character cut off by the end is one U+FFFD", () => {
  const got = piecesOf([97, ...new TextEncoder().encode("🙂").slice(0, 3)]);
  assertEquals(got, ["a", "", "", "", "\uFFFD"]);
});

Deno.test("characters that run over every border between tokens come out whole", () => {
  const decode = (bytes: number[]) =>
    new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
  const sizes = [1, 2, 3, 4];
  const cycles = sizes.flatMap((a) => [[a], ...sizes.flatMap((b) => sizes.map((c) => [a, b, c]))]);
  // Where all characters are of one length, some of these cycles never end where a character does.
  for (const text of ["한🙂é한한🙂", "한글", "🙂🙃"].map((text) => text.repeat(12))) {
    const bytes = [...new TextEncoder().encode(text)];
    for (const sizes of cycles) {
      const tokens: number[][] = [];
      for (let at = 0; at < bytes.length;) {
        const size = sizes[tokens.length % sizes.length]!;
        tokens.push(bytes.slice(at, at += size));
      }
      const pieces = new Pieces(
        (ids) => decode([...ids].flatMap((id) => tokens[id] ?? [COLON])),
        tokens.length,
      );
      const got = [...tokens.map((_, id) => pieces.push(id)), pieces.end()];
      assertEquals(got.join(""), text);
    }
  }
});

Deno.test("bytes that never become a character do not make each further token dearer", () => {
  let longest = 0;
  const pieces = new Pieces((tokens) => {
    longest = Math.max(longest, tokens.length);
    return model.detokenize(tokens);
  }, COLON);
  for (let index = 0; index < 500; index++) pieces.push(0x80);
  assert(longest < 20, `the detokenizer was given ${longest} tokens`);
});
