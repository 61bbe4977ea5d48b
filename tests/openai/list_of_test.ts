import { assert, assertEquals, assertLess } from "@std/assert";
import { z } from "zod";
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

const many = 400_000;
const HOSTILE: Record<string, unknown> = {
  "messages that are none": Array(many).fill(1),
  "parts that are none": [{ role: "user", content: Array(many).fill(1) }],
  "parts of another kind": [{ role: "user", content: Array(many / 10).fill({ type: "image_url" }) }],
};
for (const [what, body] of Object.entries(HOSTILE)) {
  for (const remote of [false, true]) {
    Deno.test(`R4: a megabyte of ${what} is refused in under 50 ms${remote ? ", before an upstream too" : ""}`, () => {
      const schema = messages(remote);
      const took: number[] = [];
      for (let i = 0; i < 5; i++) {
        const from = performance.now();
        const { error } = schema.safeParse(body);
        took.push(performance.now() - from);
        assertEquals(error?.issues.length, 1);
        assert(error!.issues[0].path.includes(0));
      }
      // The least of five: other work on the machine makes it slower, never faster.
      assertLess(Math.min(...took), 50);
    });
  }
}
