import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { cutAt } from "../helpers/cut_body.ts";
import { dechunk } from "../helpers/dechunk.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

Deno.test("any payloads in any chunks, cut into any pieces, come back the same", () => {
  fc.assert(fc.property(
    fc.array(fc.string({ minLength: 1, unit: "grapheme" }), { maxLength: 8 }),
    fc.array(fc.nat(300), { maxLength: 8 }),
    (payloads, cuts) => {
      const wire = bytesOf(
        payloads.map((text) => `${bytesOf(text).length.toString(16)}\r\n${text}\r\n`).join("") + "0\r\n\r\n",
      );
      const offsets = cuts.filter((cut) => cut < wire.length).sort((x, y) => x - y);
      assertEquals(dechunk(cutAt(wire, offsets)), { text: payloads.join(""), done: true });
    },
  ));
});
