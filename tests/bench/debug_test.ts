import { assertEquals, assertRejects } from "@std/assert";
import { Debug } from "../../bench/debug.ts";
import { rawServer } from "../helpers/raw_server.ts";
import { startService } from "../helpers/service.ts";

function answering(body: string, status = "200 OK") {
  const head = `HTTP/1.1 ${status}\r\nContent-Length: ${body.length}\r\n\r\n`;
  return rawServer({ steps: [head + body], end: "hold" });
}

const RECORD = {
  id: "a",
  outcome: "aborted",
  requested: 100,
  generated: 6,
  generated_after_abort: 0,
};

Deno.test("what a server says of its latest stream is taken only as a whole record", async () => {
  const bad: [body: string, message: string][] = [
    ["<html>", 'wanted JSON, got "<html>"'],
    ["", 'wanted JSON, got ""'],
    ["null", "wanted an object, got null"],
    ["[]", "wanted an object, got a list"],
    ["{}", "id: wanted a text, got nothing"],
    [JSON.stringify({ ...RECORD, generated: "6" }), 'generated: wanted a number, got "6"'],
    [JSON.stringify({ ...RECORD, requested: {} }), "requested: wanted a number, got an object"],
    [
      JSON.stringify({ ...RECORD, outcome: "done" }),
      'outcome: wanted one of running, completed, aborted, failed, got "done"',
    ],
  ];
  for (const [body, message] of bad) {
    await using server = await answering(body);
    using debug = await Debug.open(server.url);
    const error = await assertRejects(() => debug.latest(), Error);
    assertEquals(error.message, `/_debug/generated: ${message}: is it a Tokentap?`);
  }
});

Deno.test("an answer of another status than 200 is an error that says so, whatever it holds", async () => {
  await using server = await answering(JSON.stringify(RECORD), "404 Not Found");
  using debug = await Debug.open(server.url);
  const error = await assertRejects(() => debug.latest(), Error);
  assertEquals(error.message, "/_debug/generated: wanted status 200, got 404");
});

Deno.test("the place of what is wrong within a list is named", async () => {
  await using server = await answering('{"tokens":[{"planned_us":1,"actual_us":2},{"planned_us":3}]}');
  using debug = await Debug.open(server.url);
  const error = await assertRejects(() => debug.tokenTimes("a"), Error);
  assertEquals(
    error.message,
    "/_debug/requests/a?tokens=1: tokens: 1: actual_us: wanted a number, got nothing: is it a Tokentap?",
  );
});

Deno.test("a Tokentap answers every question, also where its address ends in a slash", async () => {
  await using service = startService();
  const headers = { "x-request-id": "a" };
  await (await fetch(`${service.url}/stream?prompt=p&max_tokens=3`, { headers })).text();
  using debug = await Debug.open(`${service.url}/`);
  const latest = await debug.latest();
  assertEquals([latest.id, latest.outcome, latest.requested, latest.generated], ["a", "completed", 3, 3]);
  assertEquals(await debug.records(), [latest]);
  assertEquals((await debug.tokenTimes("a")).length, 3);
  assertEquals((await debug.totals()).generated.total, 3);
});
