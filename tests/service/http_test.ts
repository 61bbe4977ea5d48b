import {
  assert,
  assertEquals,
  assertLess,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { median } from "../../bench/median.ts";
import { generate } from "../../lib/engine/vocabulary.ts";
import { startService } from "../helpers/service.ts";
import { dataLines, joined, RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

async function errorOf(response: Response) {
  assertEquals(response.headers.get("content-type"), "application/json");
  const { error, ...rest } = await response.json();
  assertEquals([rest, Object.keys(error).sort()], [{}, ["code", "message", "param"]]);
  return error;
}

Deno.test("a path that is not there is 404 in the one error shape, whatever is asked", async () => {
  await using service = startService();
  for (
    const path of ["/", "/nothing", "/stream/", "/generate/x", "/%E0%A4%A", "/a%0d%0ab", "//", "/_debug"]
  ) {
    for (const method of ["GET", "POST", "DELETE"]) {
      const response = await fetch(service.url + path, { method });
      const error = await errorOf(response);
      assertEquals([path, response.status, error.code], [path, 404, "not_found"]);
    }
  }
  const record = await fetch(`${service.url}/_debug/requests/nobody`);
  assertEquals([record.status, (await errorOf(record)).code], [404, "not_found"]);
  const badly = await fetch(`${service.url}/_debug/requests/%E0%A4%A`);
  assertEquals([badly.status, (await errorOf(badly)).code], [404, "not_found"]);
  const latest = await fetch(`${service.url}/_debug/generated`);
  assertEquals([latest.status, (await errorOf(latest)).code], [404, "not_found"]);
});

Deno.test("a method that a path does not have is 405 in the one error shape, with Allow", async () => {
  await using service = startService();
  const allowed = {
    "/generate": "POST, OPTIONS",
    "/stream": "GET, HEAD, POST, OPTIONS",
    "/health": "GET, HEAD, OPTIONS",
    "/_debug/generated": "GET, HEAD, OPTIONS",
    "/_debug/requests": "GET, HEAD, OPTIONS",
    "/_debug/requests/x": "GET, HEAD, OPTIONS",
    "/_debug/totals": "GET, HEAD, OPTIONS",
  };
  for (const [path, allow] of Object.entries(allowed)) {
    for (const method of ["PUT", "DELETE", "PATCH", "PROPFIND"]) {
      const response = await fetch(service.url + path, { method });
      const error = await errorOf(response);
      assertEquals([path, response.status, error.code], [path, 405, "method_not_allowed"]);
      assertEquals([path, response.headers.get("allow")], [path, allow]);
    }
  }
});

Deno.test("what /_debug/requests/ID does not know of its query's tokens is 400", async () => {
  await using service = startService();
  const headers = { "X-Request-Id": "r" };
  await (await fetch(`${service.url}/stream?prompt=a&max_tokens=1`, { headers })).text();
  for (const [query, times] of [["", 0], ["?tokens=0", 0], ["?tokens=1", 1]] as const) {
    const record = await (await fetch(`${service.url}/_debug/requests/r${query}`)).json();
    assertEquals([query, record.tokens?.length ?? 0], [query, times]);
  }
  const response = await fetch(`${service.url}/_debug/requests/r?tokens=yes`);
  const { code, param } = await errorOf(response);
  assertEquals([response.status, code, param], [400, "invalid_request", "tokens"]);
});

Deno.test("OPTIONS * asks about the server: 204 with what it can do, and the connection goes on", async () => {
  await using service = startService();
  using client = await RawClient.open(service.port);
  client.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n");
  await until("a head", () => client.head !== "");
  assertEquals(client.status, 204);
  assertStringIncludes(client.head, "allow: GET, HEAD, POST, OPTIONS\r\n");
  assert(!/content-length|connection/i.test(client.head), client.head);
  client.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  await until("an answer", () => client.text.includes("HTTP/1.1 200 OK\r\n"));
});

Deno.test("a later minor version of HTTP/1 is answered as 1.1, and another major one is 505", async () => {
  await using service = startService();
  for (const [version, status] of [["1.2", 200], ["1.9", 200], ["2.0", 505], ["3.1", 505], ["0.9", 505]]) {
    using client = await RawClient.open(service.port);
    client.send(`GET /health HTTP/${version}\r\nHost: x\r\n\r\n`);
    await until("a head", () => client.head !== "");
    assertEquals([version, client.status], [version, status]);
  }
});

Deno.test("every answer has a date, also one that is made before any route sees the request", async () => {
  await using service = startService();
  const requests: [request: string, status: number][] = [
    ["\0", 400],
    ["GET / HTTP/1.1\r\n\r\n", 400],
    [`GET /${"a".repeat(70_000)}`, 414],
    [`GET / HTTP/1.1\r\nX: ${"a".repeat(70_000)}`, 431],
    ["TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", 501],
    ["GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505],
    ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", 404],
    ["GET /health HTTP/1.1\r\nHost: x\r\n\r\n", 200],
  ];
  for (const [request, status] of requests) {
    using client = await RawClient.open(service.port);
    client.send(request);
    await until("a head", () => client.head !== "");
    const date = /\r\ndate: (\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT)\r\n/.exec(client.head)?.[1] ?? "";
    assertEquals([client.status, Math.abs(Date.parse(date) - Date.now()) < 5000], [status, true], request);
  }
});

Deno.test("HEAD has the head of a GET and no body", async () => {
  await using service = startService();
  for (const [path, status] of [["/health", 200], ["/_debug/totals", 200], ["/nothing", 404]] as const) {
    const response = await fetch(service.url + path, { method: "HEAD" });
    assertEquals([path, response.status, await response.text()], [path, status, ""]);
  }
});

Deno.test("a request id of the client is answered with where it is safe, and replaced where it is not", async () => {
  await using service = startService();
  for (const id of ["abc-1", "a.b_c:d", "x".repeat(128)]) {
    const response = await fetch(`${service.url}/health`, { headers: { "X-Request-Id": id } });
    await response.body?.cancel();
    assertEquals(response.headers.get("x-request-id"), id);
  }
  const hostile = [
    "a b",
    "x".repeat(129),
    "é",
    "<script>",
    "a\tb",
    "a\r\n evil: 1",
    'a"b',
    "a,b",
    "data: [DONE]",
    "\x00",
    "\x7f",
  ];
  for (const id of hostile) {
    using client = await RawClient.open(service.port);
    client.send(
      `GET /stream?prompt=hello&max_tokens=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: ${id}\r\n\r\n`,
    );
    await client.untilEnded();
    assert(client.head !== "", `no answer to ${JSON.stringify(id)}`);
    if (client.status === 400) continue; // Refused by the HTTP server itself.
    assertEquals(client.status, 200);
    assertMatch(client.head, /x-request-id: [\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\r\n/i);
    assert(!/evil/i.test(client.text));
  }
});

Deno.test("F3: a line end in a request's id, fault or prompt never makes a header or an event of its own", async () => {
  await using service = startService({ settings: { interTokenLatency: 0 } });
  const evil = "a\r\nX-Evil: 1\r\n\r\ndata: [DONE]\n\n";
  for (const name of ["X-Request-Id", "X-Tokentap-Fault", "Sec-Purpose"]) {
    using client = await RawClient.open(service.port);
    // Here the line end really ends the header, as HTTP has it: what comes out must be the same as without it.
    client.send(
      `GET /stream?prompt=hello&max_tokens=2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${name}: error@1\rX-Evil: 1\r\n\r\n`,
    );
    await client.untilEnded();
    assert(!/^x-evil/im.test(client.head));
    assertNotEquals(client.status, 200);
  }
  const query = new URLSearchParams({ prompt: evil, max_tokens: "3", fault: evil });
  const refused = await fetch(`${service.url}/stream?${query}`);
  assertEquals([refused.status, refused.headers.get("x-evil")], [400, null]);
  assert(!(await refused.text()).includes("\r"));
  query.delete("fault");
  const lines = dataLines(await (await fetch(`${service.url}/stream?${query}`)).text());
  assertEquals([lines.length, lines.indexOf("[DONE]")], [4, 3]);
  const status = await fetch(`${service.url}/_debug/requests/${encodeURIComponent(evil)}`);
  assertEquals([status.status, status.headers.get("x-evil")], [404, null]);
  await status.body?.cancel();
});

Deno.test("a stream has the headers of the contract, and none that are not ours to set", async () => {
  await using service = startService();
  using client = await RawClient.open(service.port);
  client.request("/stream?prompt=hello&max_tokens=2", {
    headers: { Connection: "close", "Accept-Encoding": "gzip, br, zstd" },
  });
  await client.untilEnded();
  const head = client.head.toLowerCase();
  assertStringIncludes(head, "content-type: text/event-stream; charset=utf-8\r\n");
  assertStringIncludes(head, "cache-control: no-cache, no-transform\r\n");
  assertStringIncludes(head, "x-accel-buffering: no\r\n");
  assertStringIncludes(head, "transfer-encoding: chunked\r\n");
  assertMatch(head, /x-request-id: \S+\r\n/);
  for (const absent of ["content-length", "content-encoding"]) assert(!head.includes(absent));
});

Deno.test("the line of curl in the contract: 21 data lines, 20 ms apart", async () => {
  await using service = startService({ settings: { timeToFirstToken: 200, interTokenLatency: 20 } });
  using client = await RawClient.open(service.port);
  client.request("/stream?prompt=hello&max_tokens=20");
  await until("[DONE]", () => client.text.includes("[DONE]"));
  assertEquals(dataLines(client.body.text).length, 21);
  const tokens = client.arrivals.filter(({ bytes }) => new TextDecoder().decode(bytes).includes('"token"'));
  const gaps = tokens.slice(1).map(({ at }, i) => at - tokens[i].at);
  assertEquals(tokens.length, 20);
  const middle = median(gaps)!;
  assert(Math.abs(middle - 20) < 3, `the median of the gaps is ${middle} ms`);
  const all = tokens.at(-1)!.at - tokens[0].at;
  assertLess(Math.abs(all - 19 * 20), 60);
});

for (
  const prompt of [
    "안녕하세요 세상 🙂",
    "👩‍🚀🚀 e\u0301 ½",
    "\u2028\u0000\r\n",
    "\ud800 alone",
    "a".repeat(5000),
  ]
) {
  Deno.test(`/generate and the joined /stream are byte-equal for ${JSON.stringify(prompt).slice(0, 30)}`, async () => {
    await using service = startService({ settings: { interTokenLatency: 0 } });
    const request = {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ prompt, max_tokens: 300 }),
    };
    const { text, usage } = await (await fetch(`${service.url}/generate`, request)).json();
    const streamed = joined(await (await fetch(`${service.url}/stream`, request)).text());
    assertEquals(text, streamed);
    assertEquals(text, generate(prompt, 300).join(""));
    assertEquals(usage.completion_tokens, 300);
    if (prompt.isWellFormed()) {
      const query = new URLSearchParams({ prompt, max_tokens: "300" });
      assertEquals(joined(await (await fetch(`${service.url}/stream?${query}`)).text()), text);
    }
    // Bytes of more than one unit take part.
    assert(new TextEncoder().encode(text).length > text.length);
  });
}
