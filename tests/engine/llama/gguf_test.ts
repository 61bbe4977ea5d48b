import { assertEquals, assertThrows } from "@std/assert";
import { NotGguf, readGguf } from "../../../lib/engine/llama/gguf.ts";
import { tinyGguf } from "../../helpers/tiny_gguf.ts";

const encoder = new TextEncoder();

Deno.test("the strings of the metadata are read past the arrays between them", () => {
  const strings = readGguf(tinyGguf({ chatTemplate: "{{ messages }} 한" }))!;
  assertEquals(strings.get("general.architecture"), "llama");
  assertEquals(strings.get("tokenizer.chat_template"), "{{ messages }} 한");
});

Deno.test("a start of the file that ends within the metadata asks for more, wherever it ends", () => {
  const bytes = tinyGguf();
  // The end of the metadata, found by halving.
  let [short, enough] = [0, bytes.length];
  while (enough - short > 1) {
    const middle = (short + enough) >> 1;
    if (readGguf(bytes.subarray(0, middle))) enough = middle;
    else short = middle;
  }
  for (let length = 0; length < enough; length += 7) {
    assertEquals(readGguf(bytes.subarray(0, length)), undefined);
  }
});

Deno.test("what is no GGUF is named by what it begins with", () => {
  assertThrows(
    () => readGguf(encoder.encode("PK\u0003\u0004 and more")),
    NotGguf,
    String.raw`begins with "PK\u0003\u0004"`,
  );
  assertThrows(() => readGguf(Uint8Array.of(...encoder.encode("GGUF"), 9, 0, 0, 0)), NotGguf, "version is 9");
});

Deno.test("a length beyond all bounds ends the reading, it does not allocate", () => {
  const bytes = tinyGguf();
  const keyLength = 24; // the first key's length, behind magic, version and two counts
  new DataView(bytes.buffer).setBigUint64(keyLength, 2n ** 63n, true);
  assertEquals(readGguf(bytes), undefined);
});
