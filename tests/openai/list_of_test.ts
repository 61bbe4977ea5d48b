import { assertEquals, assertLess } from "@std/assert";
import { z } from "zod";
import { withExtras } from "../../routes/openai/extras.ts";
import { listOf } from "../../routes/openai/list_of.ts";
import { messages } from "../../routes/openai/messages.ts";

Deno.test("a list is told of by its first wrong item, with its place, and no item behind that is looked at", () => {
  let looked = 0;
  const item = z.object({ a: z.unknown().refine((value) => looked++ >= 0 && value === 1, "wanted 1") });
  const list = listOf(item, "wanted a list");
  assertEquals(list.parse([{ a: 1 }, { a: 1, b: 2 }]), [{ a: 1 }, { a: 1 }]);
  assertEquals(list.parse([]), []);
  looked = 0;
  const { issues } = list.safeParse([{ a: 1 }, { a: 2 }, { a: 3 }, 4]).error!;
  assertEquals([issues.map(({ path, message }) => [path, message]), looked], [[[[1, "a"], "wanted 1"]], 2]);
  assertEquals(list.safeParse({}).error!.issues[0].message, "wanted a list");
});

for (const remote of [false, true]) {
  Deno.test(`R4: a megabyte of unknown fields is refused before they are looked at, and 256 are not: remote ${remote}`, () => {
    const schema = withExtras({ a: z.number() }, remote);
    const fields = (count: number) => ({
      a: 1,
      ...Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i])),
    });
    const { issues } = schema.safeParse(fields(90_000)).error!;
    assertEquals(issues.map(({ message, path }) => [message, path]), [[
      "wanted at most 256 fields, got 90001",
      [],
    ]]);
    assertEquals(Object.keys(schema.parse(fields(255)).extras).length, remote ? 255 : 0);
    // Beside what nobody is spared: the parse of the body. Looked at one by one they took eight times as long.
    const text = JSON.stringify(fields(90_000));
    const took = { parse: Infinity, check: Infinity };
    for (let i = 0; i < 5; i++) {
      const from = performance.now();
      const body = JSON.parse(text);
      const parsed = performance.now();
      schema.safeParse(body);
      took.check = Math.min(took.check, performance.now() - parsed);
      took.parse = Math.min(took.parse, parsed - from);
    }
    assertLess(took.check, 1.5 * took.parse);
  });
}

const many = 400_000;
const HOSTILE: Record<string, unknown> = {
  "messages that are none": Array(many).fill(1),
  "messages that are one each": Array(31_000).fill({ role: "user", content: "" }),
  "parts that are none": [{ role: "user", content: Array(many).fill(1) }],
  "parts of another kind": [{ role: "user", content: Array(many / 10).fill({ type: "image_url" }) }],
};
for (const [what, body] of Object.entries(HOSTILE)) {
  for (const remote of [false, true]) {
    Deno.test(`R4: a megabyte of ${what} is refused in under 50 ms${remote ? ", before an upstream too" : ""}`, () => {
      const schema = messages(remote);
      const whole = Array.isArray(body) && body.length > 4096;
      const took: number[] = [];
      for (let i = 0; i < 5; i++) {
        const from = performance.now();
        const { error } = schema.safeParse(body);
        took.push(performance.now() - from);
        assertEquals(error?.issues.length, 1);
        assertEquals(error!.issues[0].path.includes(0), !whole);
      }
      // The least of five: other work on the machine makes it slower, never faster.
      assertLess(Math.min(...took), 50);
    });
  }
}
