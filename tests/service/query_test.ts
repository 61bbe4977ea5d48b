import { assertEquals, assertMatch } from "@std/assert";
import { startService } from "../helpers/service.ts";

Deno.test("a name that stands in a query several times is refused, and one that nobody knows passed over", async () => {
  await using service = startService({ settings: { interTokenLatency: 0 } });
  const asked = (query: string) => fetch(`${service.url}/stream?max_tokens=1&${query}`);
  const twice = await asked("prompt=a&prompt=b");
  assertEquals(twice.status, 400);
  assertMatch(await twice.text(), /"prompt: wanted a text, got a list of 2\."/);
  const plain = await (await asked("prompt=a")).text();
  for (
    const more of [
      "x=1&x=2",
      "__proto__=b",
      "__proto__=b&__proto__=c",
      "constructor=1",
      "toString=1&toString=2",
    ]
  ) {
    const answer = await asked(`prompt=a&${more}`);
    assertEquals([answer.status, await answer.text()], [200, plain], more);
  }
  const none = await asked("__proto__=a&__proto__=b");
  assertEquals(none.status, 400);
  assertMatch(await none.text(), /"prompt: wanted a text, got nothing\."/);
});
