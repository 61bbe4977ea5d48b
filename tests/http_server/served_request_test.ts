import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { servedRequest } from "../../lib/http/server/served_request.ts";

const URL_ASKED = "http://a/b?c";

function bodyOf(text: string) {
  const body = {
    used: false,
    stream: new ReadableStream<Uint8Array>({
      pull(controller) {
        body.used = true;
        controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      },
    }, { highWaterMark: 0 }),
  };
  return body;
}

function asked(text?: string, signal = new AbortController().signal) {
  const method = text === undefined ? "GET" : "POST";
  const body = text === undefined ? undefined : bodyOf(text);
  const headers: [string, string][] = [["X-A", "1"], ["x-a", "2"], ["content-type", "application/json"]];
  const request = servedRequest({
    method,
    url: URL_ASKED,
    headers,
    body,
    signal,
  });
  const platform = new Request(URL_ASKED, { method, headers, ...(text === undefined ? {} : { body: text }) });
  return { request, platform, body, signal };
}

Deno.test("a served request answers for each member of a Request as the platform's own does", () => {
  for (const text of [undefined, "[1]"]) {
    const { request, platform } = asked(text);
    assert(request instanceof Request);
    for (const name of Object.keys(Object.getOwnPropertyDescriptors(Request.prototype))) {
      const ours = Reflect.get(request, name);
      const theirs = Reflect.get(platform, name);
      if (typeof theirs === "string" || typeof theirs === "boolean") assertEquals(ours, theirs, name);
      else assertEquals([typeof ours, ours === null], [typeof theirs, theirs === null], name);
    }
    assertEquals([...request.headers], [...platform.headers]);
  }
});

Deno.test("its signal is the one it was given, and that of what is made of it follows", () => {
  const client = new AbortController();
  const { request, signal } = asked(undefined, client.signal);
  assertStrictEquals(request.signal, signal);
  const { signal: cloned } = request.clone();
  client.abort();
  assert(cloned.aborted);
});

Deno.test("its headers are one object, which what is made of it has too", () => {
  const { request } = asked();
  assertStrictEquals(request.headers, request.headers);
  request.headers.set("x-b", "3");
  const expected = [["content-type", "application/json"], ["x-a", "1, 2"], ["x-b", "3"]];
  assertEquals([[...request.clone().headers], [...request.headers]], [expected, expected]);
  request.headers.set("x-b", "4");
  assertEquals(request.clone().headers.get("x-b"), "4");
});

Deno.test("what the body does not matter to is answered also when that was read", async () => {
  const { request, platform } = asked("[1]");
  const { request: fresh } = asked("[1]");
  for (const each of [request, platform]) for await (const _ of each.body!);
  for (const name of Object.keys(Object.getOwnPropertyDescriptors(Request.prototype))) {
    const [ours, theirs] = [Reflect.get(request, name), Reflect.get(platform, name)];
    if (typeof theirs === "string" || typeof theirs === "boolean") assertEquals(ours, theirs, name);
  }
  assertEquals([fresh.bodyUsed, request.bodyUsed], [false, true]);
  assertEquals(typeof Deno.inspect(request), "string");
});

Deno.test("its body is read once: in parts, or by the methods of a Request", async () => {
  assertEquals(await asked("[1]").request.text(), "[1]");
  assertEquals(await asked("[1]").request.json(), [1]);
  const cloned = asked("[1]").request;
  assertEquals([await cloned.clone().text(), await cloned.text(), cloned.bodyUsed], ["[1]", "[1]", true]);
  await assertRejects(() => cloned.text(), TypeError);
  const { request, body } = asked("[1]");
  assertStrictEquals(request.body, body!.stream);
  for await (const part of request.body!) assertEquals(part.length, 3);
  assertThrows(() => request.clone(), TypeError);
  await assertRejects(() => request.text(), TypeError);
});
