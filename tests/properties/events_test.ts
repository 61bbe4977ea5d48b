import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { readEvents } from "../../lib/client/events.ts";
import { bodyOf, cutAt } from "../helpers/cut_body.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

async function dataOf(pieces: Uint8Array[]): Promise<string[]> {
  const data: string[] = [];
  for await (const batch of readEvents(bodyOf(pieces))) data.push(...batch.map((event) => event.data));
  return data;
}

Deno.test("any events with any line ends, cut into any pieces, come back the same", async () => {
  const line = fc.string({ unit: "grapheme", maxLength: 12 }).map((text) => text.replace(/[\r\n]/g, ""));
  const end = fc.constantFrom("\n", "\r\n", "\r");
  const noise = fc.constantFrom("", ": ping", "retry: 5", "id: 1", "foo: bar");
  const event = fc.record({ lines: fc.array(line, { minLength: 1, maxLength: 3 }), noise });
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { maxLength: 6 }),
      end,
      fc.array(fc.nat(400), { maxLength: 12 }),
      async (sent, end, cuts) => {
        const wire = bytesOf(
          sent.map(({ lines, noise }) =>
            [...(noise ? [noise] : []), ...lines.map((text) => `data: ${text}`), "", ""].join(end)
          )
            .join(""),
        );
        const offsets = cuts.filter((cut) => cut < wire.length).sort((x, y) => x - y);
        const got = await dataOf(cutAt(wire, offsets));
        assertEquals(got, sent.map(({ lines }) => lines.join("\n")));
      },
    ),
    { numRuns: 300 },
  );
});
