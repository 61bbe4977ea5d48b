import { assert, assertEquals, assertGreaterOrEqual, assertLess, assertStringIncludes } from "@std/assert";
import { generate } from "../../lib/engine/vocabulary.ts";
import { postJson } from "../helpers/post_json.ts";
import { type Service, startService } from "../helpers/service.ts";
import { dataLines, RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

/** Plays a stream of ten tokens with a fault to its end, over a socket, asked for by query or by header. */
async function play(service: Service, fault: string, by: string, more = ""): Promise<RawClient> {
  const client = await RawClient.open(service.port);
  const query = by === "query" ? `&fault=${encodeURIComponent(fault)}` : "";
  const headers: Record<string, string> = by === "header" ? { "X-Tokentap-Fault": fault } : {};
  client.request(`/stream?prompt=hello&max_tokens=10${more}${query}`, {
    headers: { Connection: "close", ...headers },
  });
  await client.untilEnded();
  return client;
}

/** A test of one fault, once by query and once by header. */
function faultTest(
  name: string,
  fault: string,
  check: (client: RawClient, service: Service) => Promise<void> | void,
) {
  for (const by of ["query", "header"]) {
    Deno.test(`${fault} by ${by}: ${name}`, async () => {
      await using service = startService({ settings: { interTokenLatency: 1 } });
      using client = await play(service, fault, by);
      await check(client, service);
      assertEquals(service.unexpected, []);
      assertEquals(service.deps.engine.slots!().in_use, 0);
    });
  }
}

async function outcome(service: Service) {
  const { outcome, error, generated } = await until("an outcome", () => service.ended[0]);
  return { outcome, error, generated };
}

faultTest(
  "three tokens, an error event with code internal, no [DONE]",
  "error@3",
  async (client, service) => {
    const { text, terminated } = client.body;
    assertEquals([client.status, client.tokens, terminated], [200, 3, true]);
    const last = text.trimEnd().split("\n\n").at(-1)!;
    assert(last.startsWith("event: error\ndata: "));
    assertEquals(JSON.parse(last.split("data: ")[1]).code, "internal");
    assert(!text.includes("[DONE]") && text.endsWith("\n\n"));
    assertEquals(await outcome(service), { outcome: "failed", error: "internal", generated: 3 });
  },
);

faultTest("the error event has the code asked for", "error@2:rate_limit", (client) => {
  assertEquals(JSON.parse(dataLines(client.body.text).at(-1)!).code, "rate_limit");
});

faultTest("an error before the first token is a real status", "error@0:overloaded", (client) => {
  assertEquals(client.status, 503);
  assertEquals(JSON.parse(client.text.split("\r\n\r\n")[1]).error.code, "overloaded");
});

for (const at of [0, 3]) {
  faultTest("a clean end of the body without [DONE]", `close@${at}`, async (client, service) => {
    const { text, terminated } = client.body;
    assertEquals([client.status, client.tokens, terminated], [200, at, true]);
    assert(!text.includes("[DONE]"));
    assertEquals((await outcome(service)).outcome, "failed");
  });

  faultTest(
    "the connection is torn down without the chunked terminator",
    `reset@${at}`,
    async (client, service) => {
      assertEquals([client.tokens, client.body.terminated], [at, false]);
      assert(!client.text.includes("0\r\n\r\n") && !client.text.includes("[DONE]"));
      assertEquals((await outcome(service)).outcome, "failed");
    },
  );
}

for (const [fault, at, ms] of [["stall@3:300", 3, 300], ["slow@5:200", 5, 200]] as const) {
  faultTest(`${ms} ms of silence before token ${at}, all else as planned`, fault, (client, service) => {
    assertEquals([client.tokens, client.body.text.endsWith("data: [DONE]\n\n")], [10, true]);
    const times = service.ledger.timesOf(service.ended[0])!;
    // The plan, which no load of the machine moves; that no token comes before it, other tests tell.
    const gaps = times.slice(1).map(({ planned_us }, i) => planned_us! - times[i].planned_us!);
    const expected = gaps.map((_, i) => i === at - 1 ? 1000 * (ms + 1) : 1000);
    gaps.forEach((gap, i) => assertLess(Math.abs(gap - expected[i]), 2));
    assertGreaterOrEqual(times[at].handed_us! - times[at - 1].planned_us!, 1000 * ms);
  });
}

for (const by of ["query", "header"]) {
  Deno.test(`stall@0:300,status:503 by ${by}: the refusal itself is late, on a stream and where nothing is streamed`, async () => {
    await using service = startService();
    const fault = "stall@0:300,status:503";
    const from = performance.now();
    using client = await play(service, fault, by);
    assertEquals(client.status, 503);
    assertGreaterOrEqual(performance.now() - from, 300);
    const whole = await postJson(`${service.url}/generate?fault=${fault}`, { prompt: "hello" });
    assertEquals([whole.status, whole.json.error.code, whole.headers.get("retry-after")], [
      503,
      "overloaded",
      "1",
    ]);
    assertGreaterOrEqual(performance.now() - from, 600);
    assertEquals(
      service.ended.map(({ outcome, admittedAt }) => [outcome, admittedAt]),
      Array(2).fill(["failed", null]),
    );
    assertEquals(service.unexpected, []);
  });
}

Deno.test("who leaves while a late refusal is silent has left: nothing failed", async () => {
  await using service = startService();
  for (const path of ["/stream?prompt=a&fault=stall@0,status:503", "/generate?fault=stall@0,status:503"]) {
    using client = await RawClient.open(service.port);
    client.request(path, path.startsWith("/generate") ? { body: { prompt: "a" } } : {});
    await until("it to wait", () => service.ledger.running === 1);
    client.reset();
    await until("its end", () => service.ledger.running === 0);
  }
  assertEquals(
    service.ended.map(({ outcome, phaseAtAbort }) => [outcome, phaseAtAbort]),
    Array(2).fill(["aborted", "queued"]),
  );
});

faultTest("one data line more that is no JSON, then the rest", "malformed@4", (client) => {
  const lines = dataLines(client.body.text);
  const broken = lines.map((data, i) => [i, data] as const).filter(([, data]) => {
    try {
      return data !== "[DONE]" && !JSON.parse(data);
    } catch {
      return true;
    }
  });
  assertEquals(broken.map(([i]) => i), [4]);
  const tokens = lines.filter((_, i) => i !== 4).slice(0, -1).map((data) => JSON.parse(data).token);
  assertEquals(tokens, generate("hello", 10));
});

for (const by of ["query", "header"]) {
  Deno.test(`split@0 by ${by}: an event is cut inside a UTF-8 character, and reads whole`, async () => {
    await using service = startService({ settings: { interTokenLatency: 1 } });
    using client = await play(
      service,
      "split@0",
      by,
      "&max_tokens=60".replace("&max_tokens=60", "&itl_ms=15"),
    );
    const { text } = client.body;
    assertEquals(dataLines(text).slice(0, -1).map((data) => JSON.parse(data).token), generate("hello", 10));
    // The payload of a read that ends in the middle of a character does not decode.
    const cut = client.arrivals.filter(({ bytes }) => {
      try {
        new TextDecoder("utf-8", { fatal: true }).decode(bytes);
        return false;
      } catch {
        return true;
      }
    });
    assertGreaterOrEqual(cut.length, 1);
  });
}

faultTest("a real status before the start, in the one error shape", "status:429", (client) => {
  assertEquals(client.status, 429);
  assertStringIncludes(client.head.toLowerCase(), "retry-after: 1");
  assertEquals(JSON.parse(client.text.split("\r\n\r\n")[1]).error.code, "rate_limit");
});

const UNKNOWN = [
  "explode@3",
  "error",
  "error@",
  "error@-1",
  "error@1.5",
  "error@3:nosuch",
  "slow@3",
  "status:200",
];
for (
  const fault of [...UNKNOWN, "status:abc", "close@3:5", "reset@x", "", ",", "toString@1", "error@99999999"]
) {
  faultTest("400 that says what is possible", fault, (client) => {
    assertEquals(client.status, 400);
    const { error } = JSON.parse(client.text.split("\r\n\r\n")[1]);
    assertEquals([error.code, error.param], ["invalid_request", "fault"]);
    assertStringIncludes(error.message, "wanted ");
  });
}

Deno.test("an unknown fault is answered with the names of all known ones", async () => {
  await using service = startService();
  const response = await fetch(`${service.url}/stream?prompt=a&fault=explode`);
  const { error } = await response.json();
  for (const kind of ["error@", "close@", "reset@", "stall@", "malformed@", "split@", "slow@", "status:"]) {
    assertStringIncludes(error.message, kind);
  }
});

Deno.test("a fault that is written wrongly makes no generation, however it is given", async () => {
  await using service = startService();
  const url = `${service.url}/stream?prompt=a`;
  const post = { method: "POST", body: '{"prompt":"a","fault":"explode"}' };
  const headers = { "Content-Type": "application/json" };
  for (
    const reply of [
      await fetch(`${url}&fault=explode`),
      await fetch(url, { headers: { "X-Tokentap-Fault": "explode" } }),
      await fetch(url, { ...post, headers }),
      await fetch(`${service.url}/generate`, { ...post, headers }),
    ]
  ) {
    assertEquals([reply.status, (await reply.json()).error.param], [400, "fault"]);
  }
  assertEquals(service.ledger.totals().requests.total, 0);
});

Deno.test("several faults in one request each come true", async () => {
  await using service = startService({ settings: { interTokenLatency: 1 } });
  using client = await play(service, "slow@2:150,malformed@4,error@6:timeout", "query");
  assertEquals(client.tokens, 7); // Six, and the line that is no JSON.
  assertEquals(JSON.parse(dataLines(client.body.text).at(-1)!).code, "timeout");
});

Deno.test("the faults that need a stream are refused by /generate, which names them", async () => {
  await using service = startService();
  const post = (fault: string) =>
    fetch(`${service.url}/generate`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ prompt: "hello", max_tokens: 5, fault }),
    });
  for (const fault of ["close@2", "reset@2", "malformed@2", "split@2", "slow@1:1,reset@9"]) {
    const response = await post(fault);
    const { error } = await response.json();
    assertEquals([fault, response.status, error.code, error.param], [fault, 400, "invalid_request", "fault"]);
    assertStringIncludes(error.message, "stream");
  }
  const failed = await post("error@3");
  assertEquals([failed.status, (await failed.json()).error.code], [500, "internal"]);
  const late = await post("stall@2:20");
  assertEquals([late.status, (await late.json()).text], [200, generate("hello", 5).join("")]);
});

for (const size of [3, 4, 10, 50]) {
  Deno.test(`tokens_per_event=${size}: ten tokens come in ceil(10 / ${size}) events`, async () => {
    await using service = startService({ settings: { interTokenLatency: 1 } });
    const response = await fetch(`${service.url}/stream?prompt=hello&max_tokens=10&tokens_per_event=${size}`);
    const events = dataLines(await response.text()).slice(0, -1).map((data) => JSON.parse(data));
    assertEquals(events.length, Math.ceil(10 / size));
    assertEquals(events.map(({ token }) => token).join(""), generate("hello", 10).join(""));
    assertEquals(events.reduce((sum, { tokens = 1 }) => sum + tokens, 0), 10);
    assertLess(service.ended[0].delivered, 11);
    assertEquals([service.ended[0].generated, service.ended[0].delivered], [10, 10]);
  });
}

Deno.test("tokens_per_event with a fault in the middle of an event: what came before it arrives first", async () => {
  await using service = startService({ settings: { interTokenLatency: 1 } });
  const response = await fetch(
    `${service.url}/stream?prompt=hello&max_tokens=10&tokens_per_event=4&fault=error@6`,
  );
  const lines = dataLines(await response.text()).map((data) => JSON.parse(data));
  assertEquals(lines.map(({ token }) => token).join(""), generate("hello", 6).join(""));
  assertEquals(lines.at(-1).code, "internal");
});

for (const path of ["/stream", "/generate", "/v1/completions"]) {
  Deno.test(`a fault in the query is seen by POST ${path} too`, async () => {
    await using service = startService();
    const response = await fetch(`${service.url}${path}?fault=status:503`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ prompt: "hello", max_tokens: 2 }),
    });
    await response.body?.cancel();
    assertEquals(response.status, 503);
  });
}
