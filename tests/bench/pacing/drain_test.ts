import { assertEquals, assertRejects } from "@std/assert";
import { drain } from "../../../bench/pacing/drain.ts";
import { rawServer, SSE_HEAD } from "../../helpers/raw_server.ts";

Deno.test("a stream is read to its end under the given id", async () => {
  await using server = await rawServer({ steps: [SSE_HEAD, "data: a\n\n", "data: [DONE]\n\n"], end: "fin" });
  await drain(server.url, "/stream?prompt=p", "pacing-1");
  const [{ head }] = server.requests;
  assertEquals(head.split("\r\n")[0], "GET /stream?prompt=p HTTP/1.1");
  assertEquals(/^X-Request-Id: (.*)\r$/m.exec(head)?.[1], "pacing-1");
});

Deno.test("a refused stream, and a server that says nothing, are errors and no figures", async () => {
  const cases: [steps: string[], got: string][] = [
    [["HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n"], '"HTTP/1.1 429 Too Many Requests"'],
    [[], "nothing"],
  ];
  for (const [steps, got] of cases) {
    await using server = await rawServer({ steps, end: "fin" });
    const error = await assertRejects(() => drain(server.url, "/stream", "a"), Error);
    assertEquals(error.message, `/stream: wanted status 200, got ${got}`);
  }
});
