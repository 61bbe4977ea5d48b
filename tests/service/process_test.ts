import {
  assert,
  assertEquals,
  assertGreaterOrEqual,
  assertLessOrEqual,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { uniform } from "../../lib/engine/hash.ts";
import { dataLines, RawClient } from "../helpers/sockets.ts";
import { runMain, spawnService, spawnServiceIn } from "../helpers/spawned_service.ts";
import { until } from "../helpers/until.ts";

/** What `promise` gives, if it does within `ms`: a service that does not stop must not hold the test. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let value: { value: T } | undefined;
  promise.then((it) => value = { value: it });
  return (await until("the exit of the service", () => value, { withinMs: ms })).value;
}

async function health(url: string): Promise<{ status: number; running?: number }> {
  const response = await fetch(`${url}/health`);
  return { status: response.status, ...await response.json() };
}

Deno.test("S3: 200 connections reset at random moments leave the process alive, silent and with nothing running", async () => {
  await using service = await spawnService(
    ...["--keep-alive", "5ms", "--time-to-first-token", "100ms", "--max-num-seqs", "64"],
  );
  const cut = async (index: number) => {
    using client = await RawClient.open(service.port);
    // Some wait in the queue, some in prefill, some are silent with comments only, some stream.
    const itl = ["0", "1", "20", "5000"][index % 4];
    const post = { body: { prompt: "hello", max_tokens: 2000, itl_ms: Number(itl) } };
    if (index % 8 === 7) client.request(index % 16 === 7 ? "/generate" : "/stream", post);
    else client.request(`/stream?prompt=hello&max_tokens=2000&itl_ms=${itl}`);
    await new Promise((resolve) => setTimeout(resolve, uniform(1, 0, index) * 300));
    client.reset();
  };
  await Promise.all(Array.from({ length: 200 }, (_, index) => cut(index)));
  await until("nothing running", async () => (await health(service.url)).running === 0, { withinMs: 2000 });
  const totals = await (await fetch(`${service.url}/_debug/totals`)).json();
  assertEquals([totals.slots.in_use, totals.queue, totals.requests.failed], [0, 0, 0]);
  assertGreaterOrEqual(totals.requests.aborted, 100);
  assert(!/unhandled|uncaught|error/i.test(service.stderr()), service.stderr());
  assertEquals(service.stderr(), "");
});

Deno.test("S9: at SIGTERM what ends within the grace completes, the rest is told shutting_down, and the exit code is 0", async () => {
  await using service = await spawnService("--time-to-first-token", "0", "--shutdown-grace", "5s");
  const streams: RawClient[] = [];
  for (const tokens of [100, 400, 8000]) {
    const client = await RawClient.open(service.port);
    client.request(`/stream?prompt=hello&max_tokens=${tokens}&itl_ms=20`);
    streams.push(client);
  }
  using short = streams[0];
  using long = streams[1];
  using endless = streams[2];
  await endless.untilTokens(5);

  const signalled = performance.now();
  service.kill("SIGTERM");
  await until("a refusal of new requests", async () => (await health(service.url)).status === 503);
  const refused = await fetch(`${service.url}/stream?prompt=hello`);
  assertEquals([refused.status, (await refused.json()).error.code], [503, "shutting_down"]);
  assert(refused.headers.has("retry-after"));
  using kept = await RawClient.open(service.port);
  kept.request("/health");
  await kept.untilEnded(1000);
  assertStringIncludes(kept.head, "connection: close\r\n");

  await until("the end of the first", () => short.text.includes("[DONE]"));
  assertEquals(short.tokens, 100);
  // A late comer is refused for all of the grace, not only at its beginning.
  const late = await fetch(`${service.url}/generate`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: '{"prompt":"a"}',
  });
  assertEquals([late.status, (await late.json()).error.code], [503, "shutting_down"]);

  const { code } = await within(6000, service.status);
  assertEquals(code, 0);
  assertLessOrEqual(performance.now() - signalled, 6000);
  assertGreaterOrEqual(performance.now() - signalled, 4900);
  for (const client of [long, endless]) {
    await client.untilEnded(1000);
    const { text, terminated } = client.body;
    assert(text.includes("event: error\n"), text.slice(-200));
    assertEquals(JSON.parse(dataLines(text).at(-1)!).code, "shutting_down");
    assert(!text.includes("[DONE]"));
    assertEquals(terminated, true);
  }
  assertStringIncludes(service.stdout(), "shuts down when 3 generations have ended, in 5 s at most");
  assertEquals(service.stderr(), "");
});

Deno.test("S9: what is not streamed and outlives the grace is a 503 that says when to try again", async () => {
  await using service = await spawnService("--time-to-first-token", "0", "--shutdown-grace", "300ms");
  const replies = ["/generate", "/v1/completions"].map((path) =>
    fetch(service.url + path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"prompt":"a","max_tokens":8000}',
    })
  );
  await until("both to run", async () => (await health(service.url)).running === 2);
  service.kill("SIGTERM");
  for (const reply of replies) {
    const { status, headers, body } = await reply;
    await body?.cancel();
    assertEquals([status, headers.get("retry-after")], [503, "1"]);
  }
  assertEquals((await within(2000, service.status)).code, 0);
});

Deno.test("S9: a second SIGTERM exits at once", async () => {
  await using service = await spawnService("--time-to-first-token", "0", "--shutdown-grace", "30s");
  using client = await RawClient.open(service.port);
  client.request("/stream?prompt=hello&max_tokens=8000");
  await client.untilTokens(2);
  service.kill("SIGTERM");
  await until("the first to be seen", async () => (await health(service.url)).status === 503);
  service.kill("SIGTERM");
  assertEquals((await within(1000, service.status)).code, 1);
});

Deno.test("a Ctrl-C that arrives twice, from the terminal and from the task runner, is one; a second one exits at once", async () => {
  await using service = await spawnService("--time-to-first-token", "0", "--shutdown-grace", "30s");
  using client = await RawClient.open(service.port);
  client.request("/stream?prompt=hello&max_tokens=8000");
  await client.untilTokens(2);
  const interruptedAt = performance.now();
  service.kill("SIGINT");
  await until("the first to be seen", async () => (await health(service.url)).status === 503);
  service.kill("SIGINT");
  await client.untilTokens(client.tokens + 5);
  await until("more than half a second", () => performance.now() - interruptedAt > 700);
  service.kill("SIGINT");
  assertEquals((await within(1000, service.status)).code, 1);
});

Deno.test("a Ctrl-C that is pressed again and again exits at once, however fast it is pressed", async () => {
  for (const everyMs of [100, 300]) {
    await using service = await spawnService("--time-to-first-token", "0", "--shutdown-grace", "30s");
    using client = await RawClient.open(service.port);
    client.request("/stream?prompt=hello&max_tokens=8000");
    await client.untilTokens(2);
    const pressing = setInterval(() => service.kill("SIGINT"), everyMs);
    try {
      const { code } = await within(2000, service.status.finally(() => clearInterval(pressing)));
      assertEquals([everyMs, code], [everyMs, 1]);
    } finally {
      clearInterval(pressing);
    }
  }
});

Deno.test("SIGTERM ends an idle service at once, also with connections open that ask for nothing", async () => {
  await using service = await spawnService("--shutdown-grace", "1s");
  using silent = await RawClient.open(service.port);
  using half = await RawClient.open(service.port);
  half.send("GET /health HTT");
  using body = await RawClient.open(service.port);
  body.send(
    "POST /generate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
  );
  using idle = await RawClient.open(service.port);
  idle.request("/health");
  await until("an answer", () => idle.text.includes("ok"));
  service.kill("SIGTERM");
  const { code } = await within(3000, service.status);
  assertEquals(code, 0);
  assertEquals([silent.text, half.text], ["", ""]);
});

Deno.test("SIGTERM does not wait for a reader that does not take the rest of a stream that has completed", async () => {
  await using service = await spawnService(
    ...["--realtime", "false", "--max-model-len", "1000000", "--shutdown-grace", "1s"],
  );
  // Never read: what the socket does not hold stays with the service.
  using conn = await Deno.connect({ port: service.port });
  await conn.write(new TextEncoder().encode(
    "GET /stream?prompt=a&max_tokens=900000 HTTP/1.1\r\nHost: x\r\n\r\n",
  ));
  await until("the stream to run", async () => (await health(service.url)).running === 1);
  service.kill("SIGTERM");
  const { code } = await within(3000, service.status);
  assertEquals(code, 0);
});

/** The functions, as `file name`, that a service has called which is stopped so many milliseconds after it listens. */
async function calledWithoutRequests(afterMs: number): Promise<{ called: Set<string>; stdout: string }> {
  const folder = await Deno.makeTempDir();
  try {
    await using service = await spawnServiceIn({ DENO_COVERAGE_DIR: folder });
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    service.kill("SIGTERM");
    await within(5000, service.status);
    const called = new Set<string>();
    for await (const { name } of Deno.readDir(folder)) {
      const { url, functions } = JSON.parse(await Deno.readTextFile(`${folder}/${name}`));
      for (const { functionName, ranges } of functions) {
        if (ranges[0].count > 0) called.add(`${url.split("/").at(-1)} ${functionName}`);
      }
    }
    return { called, stdout: service.stdout() };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a service that was only started has gone through a whole stream, and its log says nothing of it", async () => {
  const wanted = ["stream.ts stream", "body.ts streamBody", "simulated_tokens.ts halt"];
  let afterMs = 250;
  await until("a rehearsal", async () => {
    const { called, stdout } = await calledWithoutRequests(afterMs);
    assertEquals(stdout.trim().split("\n").length, 1);
    afterMs *= 2;
    return wanted.every((name) => called.has(name));
  }, { withinMs: 10_000 });
});

Deno.test("main.ts: what cannot be used is one line on stderr and exit code 2", async () => {
  const cases: [flags: string[], names: RegExp][] = [
    [["--no-such-flag"], /no-such-flag/],
    [["--port", "abc"], /--port.*abc/],
    [["--port", "70000"], /--port.*70000/],
    [["--port"], /--port/],
    [["--inter-token-latency", "fast"], /--inter-token-latency.*fast/],
    [["--inter-token-latency=-1ms"], /--inter-token-latency/],
    [["--engine", "magic"], /--engine.*magic/],
    [["--model", "a\nb"], /--model/],
    [["stray"], /stray/],
    [["--host", "no.such.host.invalid", "--port", "0"], /no\.such\.host\.invalid|--host/],
  ];
  await Promise.all(cases.map(async ([flags, names]) => {
    const { code, stdout, stderr } = await runMain(...flags);
    assertEquals([flags, code, stdout], [flags, 2, ""]);
    assertMatch(stderr, names);
    assertEquals(stderr.trimEnd().split("\n").length, 1, stderr);
  }));
});

Deno.test("main.ts: a port that is in use is one line that names it, and exit code 2", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  const { code, stdout, stderr } = await runMain("--port", String(port));
  assertEquals([code, stdout], [2, ""]);
  assertEquals(stderr.trimEnd().split("\n").length, 1, stderr);
  assert(stderr.includes(String(port)), stderr);
});

Deno.test("main.ts: a value that a variable gave is blamed on that variable, also where it is used later", async () => {
  const [host, port, engine] = ["no.such.host.invalid", "0", "upstream"];
  const url = "http://127.0.0.1:1/v1";
  const cases: [flags: string[], variables: Record<string, string>, says: RegExp][] = [
    [[], { HOST: host, PORT: port }, /^TOKENTAP_HOST and TOKENTAP_PORT: cannot listen /],
    [["--port", port], { HOST: host, PORT: "1" }, /^TOKENTAP_HOST and --port: cannot listen /],
    [["--host", host], { PORT: port }, /^--host and TOKENTAP_PORT: cannot listen /],
    [
      [],
      { ENGINE: engine, UPSTREAM_URL: "foo" },
      /^TOKENTAP_UPSTREAM_URL: wanted a URL like .*, got "foo"\.$/,
    ],
    [["--upstream-url", "foo"], { ENGINE: engine, UPSTREAM_URL: url }, /^--upstream-url: wanted a URL like /],
    [
      [],
      { ENGINE: engine, UPSTREAM_URL: "http://a:b@c/v1" },
      /^TOKENTAP_UPSTREAM_URL: wanted no user or pass/,
    ],
    [
      [],
      { ENGINE: engine, UPSTREAM_URL: url, UPSTREAM_API_KEY_FILE: "no/such" },
      /^TOKENTAP_UPSTREAM_API_KEY_FILE: wanted a file, got "no\/such" /,
    ],
    [["--engine", "llama"], { MODEL: "no/such.gguf" }, /^TOKENTAP_MODEL: wanted a GGUF file, found no file /],
  ];
  await Promise.all(cases.map(async ([flags, variables, says]) => {
    const env = Object.fromEntries(Object.entries(variables).map(([name, is]) => [`TOKENTAP_${name}`, is]));
    const args = ["run", "-A", new URL("../../main.ts", import.meta.url).href, ...flags];
    const { code, stderr } = await new Deno.Command(Deno.execPath(), { args, env, stdin: "null" }).output();
    const text = new TextDecoder().decode(stderr).replace(/\n$/, "");
    assertMatch(text, says);
    assertEquals([code, text.split("\n").length], [2, 1], text);
  }));
});

Deno.test("main.ts: --version is one line on stdout, with exit code 0", async () => {
  const { code, stdout, stderr } = await runMain("--version");
  assertEquals([code, stderr], [0, ""]);
  assertMatch(stdout, /^tokentap \d+\.\d+\.\d+\n$/);
});

Deno.test("main.ts: --help names every flag on stdout, with exit code 0", async () => {
  const { code, stdout, stderr } = await runMain("--help");
  assertEquals([code, stderr], [0, ""]);
  for (const flag of ["--host", "--port", "--max-num-seqs", "--time-factor-under-load", "--shutdown-grace"]) {
    assert(stdout.includes(`  ${flag} `));
  }
});
