import { assertEquals, assertRejects } from "@std/assert";
import { HttpConnection } from "../../bench/http.ts";
import { readTokens } from "../../lib/client/reader.ts";
import { type End, rawServer, SSE_HEAD, type Step } from "../helpers/raw_server.ts";

async function get(steps: Step[], end: End = "fin", init: RequestInit = {}) {
  await using server = await rawServer({ steps, end });
  using connection = await HttpConnection.open(server.url);
  const response = await connection.fetch(`${server.url}/a?b=1`, init);
  return { status: response.status, headers: response.headers, text: await response.text(), server };
}

Deno.test("a body is read by its length, by its chunks, or up to the close", async () => {
  const byLength = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
  const byChunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  assertEquals((await get([byLength + "hel", 10, "lo"], "hold")).text, "hello");
  assertEquals((await get([byChunks + "3\r\nhe", 10, "l\r\n2\r\nlo\r\n0\r\n\r\n"], "hold")).text, "hello");
  assertEquals((await get(["HTTP/1.1 200 OK\r\n\r\nhel", 10, "lo"])).text, "hello");
  assertEquals((await get(["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"], "hold")).text, "");
  assertEquals((await get(["HTTP/1.1 204 No Content\r\n\r\n"], "hold")).text, "");
});

Deno.test("a head in pieces, and after an interim reply, is read whole", async () => {
  const { status, headers, text } = await get(
    [
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Bu",
      10,
      "sy\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 2\r\n\r",
      10,
      "\nno",
    ],
    "hold",
  );
  assertEquals([status, headers.get("x-a"), text], [503, "1, 2", "no"]);
});

Deno.test("a long body may come in one read with its head: only the head has a limit", async () => {
  const body = "x".repeat(300_000);
  const { text } = await get([`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`], "hold");
  assertEquals(text.length, body.length);
});

Deno.test("the request is written whole: line, host, headers, length and body", async () => {
  const { server } = await get(["HTTP/1.1 200 OK\r\n\r\n"], "fin", {
    method: "POST",
    headers: { "x-a": "1" },
    body: "안",
  });
  const { host } = new URL(server.url);
  assertEquals(
    server.requests[0].head,
    `POST /a?b=1 HTTP/1.1\r\ncontent-length: 3\r\nhost: ${host}\r\nx-a: 1\r\n\r\n안`,
  );
});

Deno.test("a body that breaks off is an error, whatever its framing", async () => {
  for (const head of ["Content-Length: 9\r\n", "Transfer-Encoding: chunked\r\n"]) {
    await assertRejects(
      () => get([`HTTP/1.1 200 OK\r\n${head}\r\n5\r\nhel`]),
      Error,
      "the connection was closed",
    );
  }
  await assertRejects(
    () => get(["HTTP/1.1 200 OK\r\nContent-"]),
    Error,
    "before the response's head was complete",
  );
  await assertRejects(() => get(["HTTP/1.1 200 OK\r\n\r\nhel", 30], "reset"), Error, "reset");
  await assertRejects(() => get(["SSH-2.0 hello\r\n\r\n"]), Error, 'status line, got "SSH-2.0 hello"');
});

Deno.test("one connection carries one request after the other", async () => {
  await using server = await rawServer({
    steps: ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"],
    end: "hold",
  });
  using connection = await HttpConnection.open(server.url);
  for (const _ of [1, 2, 3]) assertEquals(await (await connection.fetch(server.url)).text(), "a");
  assertEquals(new Set(server.requests.map(({ closed }) => closed)).size, 1, "one connection for all three");
  connection.close();
  await server.requests[0].closed;
});

Deno.test("cancelling the body or aborting the signal closes the connection", async () => {
  await using server = await rawServer({ steps: [SSE_HEAD, "data: 1\n\n"], end: "hold" });
  using first = await HttpConnection.open(server.url);
  await (await first.fetch(server.url)).body!.cancel();
  await server.requests[0].closed;

  using second = await HttpConnection.open(server.url);
  const stop = new AbortController();
  const reading = second.fetch(server.url, { signal: stop.signal }).then((response) => response.text());
  const failed = assertRejects(() => reading);
  stop.abort();
  await failed;
});

Deno.test("the client reads a token stream over it, and a cut of the chunked framing is truncated", async () => {
  const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const token = chunk('data: {"token":"a"}\n\n');
  for (
    const [steps, end, outcome] of [
      [[head, token, 5, token, chunk("data: [DONE]\n\n") + "0\r\n\r\n"], "hold", "done"],
      [[head, token, 5, token], "fin", "truncated"],
      [[head, token, 5, token, 30], "reset", "truncated"],
    ] as const
  ) {
    await using server = await rawServer({ steps: [...steps], end });
    using connection = await HttpConnection.open(server.url);
    const result = await readTokens({ url: server.url, fetch: connection.fetch });
    assertEquals([result.outcome, result.text], [outcome, "aa"]);
  }
});

Deno.test("a connection refuses requests to another origin, and other protocols", async () => {
  await using server = await rawServer({ steps: [], end: "hold" });
  using connection = await HttpConnection.open(server.url);
  await assertRejects(() => connection.fetch("http://other.test/"), TypeError, "http://other.test");
  await assertRejects(() => HttpConnection.open("ftp://x.test/"), TypeError, "wanted an http or https URL");
});
