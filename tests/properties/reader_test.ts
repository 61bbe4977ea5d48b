import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { readTokens } from "../../lib/client/reader.ts";
import { bodyOf, cutAt } from "../helpers/cut_body.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const url = "http://stream.test/";
const event = (data: unknown) => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

/** A fetch that answers with these pieces, one for each read. */
const answering = (pieces: Uint8Array[]) => () =>
  Promise.resolve(new Response(bodyOf(pieces), { headers: { "content-type": "text/event-stream" } }));

Deno.test("any tokens, cut into any pieces, come back the same, as text and one by one", async () => {
  const tokens = fc.array(fc.string({ unit: "binary", maxLength: 6 }), { minLength: 1, maxLength: 12 });
  await fc.assert(fc.asyncProperty(tokens, fc.array(fc.nat(600), { maxLength: 15 }), async (tokens, cuts) => {
    const wire = bytesOf(tokens.map((token) => event({ token })).join("") + event("[DONE]"));
    const offsets = cuts.filter((cut) => cut < wire.length).sort((x, y) => x - y);
    const seen: string[] = [];
    const fetch = answering(cutAt(wire, offsets));
    const result = await readTokens({ url, fetch, onToken: ({ text }) => seen.push(text) });
    assertEquals([result.outcome, result.text, seen], ["done", tokens.join(""), tokens]);
  }));
});
