import { assertEquals, assertGreater, assertMatch, assertStringIncludes } from "@std/assert";
import { brokenBounds, type Figures, filesOf, longestGap } from "../../bench/measure/figures.ts";
import { rawServer, type Script, SSE_HEAD } from "../helpers/raw_server.ts";

const FIGURES: Figures = {
  generated: ['"a"\n', '"a"\n'],
  ttftMs: 203.4,
  itl: { count: 99, p50: 20.00049, p99: 21.5, max: 30 },
  cancel: { requested: 100, generated: 6 },
  tokens: 100,
  tokensPerSecond: 45.67891,
};

Deno.test("the six files have exactly the form of the contract", () => {
  assertEquals(filesOf(FIGURES), {
    "gen1.txt": '"a"\n',
    "gen2.txt": '"a"\n',
    "ttft.txt": "ttft_ms=203\n",
    "itl.txt": "count=99 p50_ms=20 p99_ms=21.5\n",
    "cancel.txt": "requested=100 generated=6\n",
    "report.txt": "ttft_ms=203\nitl_p50_ms=20\ntokens=100\nthroughput_tps=45.679\n",
  });
  assertEquals(filesOf({ ...FIGURES, ttftMs: 0.2 })["ttft.txt"], "ttft_ms=1\n");
});

Deno.test("the longest gap never reads shorter than the p99: both have the same decimals", () => {
  const figures = { ...FIGURES, itl: { count: 20, p50: 20, p99: 21.049, max: 21.049 } };
  assertStringIncludes(filesOf(figures)["itl.txt"], "p99_ms=21.049");
  assertEquals(longestGap(figures), "itl_max_ms=21.049");
});

Deno.test("each broken bound is named with what came, and none when all hold", () => {
  assertEquals(brokenBounds(FIGURES), []);
  assertEquals(brokenBounds({ ...FIGURES, ttftMs: 2999.4, cancel: { requested: 100, generated: 30 } }), []);
  const broken: [Partial<Figures>, string][] = [
    [{ generated: ['"a"\n', '"b"\n'] }, "identical"],
    [{ generated: ["", ""] }, "empty"],
    [{ ttftMs: 3000 }, "it is 3000"],
    [{ ttftMs: 0 }, "it is 0"],
    [{ itl: { count: 18, p50: 1, p99: 1, max: 1 } }, "it is 18"],
    [{ cancel: { requested: 100, generated: 31 } }, "there were 31"],
    [{ cancel: { requested: 20, generated: 6 } }, "recorded 20"],
  ];
  for (const [change, part] of broken) {
    const lines = brokenBounds({ ...FIGURES, ...change });
    assertEquals(lines.length, 1);
    assertStringIncludes(lines[0], part);
  }
});

/**
 * A server of the three requests that measure makes; `generated` is what it claims after the disconnect, `record` what
 * else stands in that record.
 */
function standIn({ generated = 6, tokens = 20, itl = 2, id = "r-1", record = {} } = {}) {
  let polls = 0;
  const json = (value: unknown): Script => {
    const body = JSON.stringify(value);
    const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    return { steps: [`${head}Connection: close\r\n\r\n${body}`], end: "hold" };
  };
  return rawServer((request) => {
    if (request.startsWith("GET /_debug/generated ")) {
      const running = polls++ < 1;
      return json({
        id,
        requested: 100,
        generated: running ? generated - 1 : generated,
        generated_after_abort: 0,
        outcome: running ? "running" : "aborted",
        ...record,
      });
    }
    const n = JSON.parse(request.split("\r\n\r\n")[1]).max_tokens === 100 ? 100 : tokens;
    const events = Array.from({ length: n }, () => [itl, 'data: {"token":" a"}\n\n']).flat();
    return {
      steps: [
        SSE_HEAD.replace("\r\n\r\n", "\r\nX-Request-Id: r-1\r\n\r\n"),
        10,
        ...events,
        "data: [DONE]\n\n",
      ],
      end: "fin",
    };
  });
}

async function measure(...args: string[]) {
  const out = await Deno.makeTempDir();
  try {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", new URL("../../bench/measure.ts", import.meta.url).href, "--out", out, ...args],
      env: { NO_COLOR: "1" },
      signal: AbortSignal.timeout(30_000),
    }).output();
    const files: Record<string, string> = {};
    for await (const { name } of Deno.readDir(out)) files[name] = await Deno.readTextFile(`${out}/${name}`);
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trimEnd();
    return { code, stdout: text(stdout), stderr: text(stderr), files, out };
  } finally {
    await Deno.remove(out, { recursive: true });
  }
}

Deno.test("measure writes six files, prints each figure with its file and exits 0", async () => {
  await using server = await standIn();
  const { code, stdout, stderr, files, out } = await measure("--url", server.url, "--max-tokens", "20");
  assertEquals([code, stderr], [0, ""]);
  assertEquals(Object.keys(files).sort(), [
    "cancel.txt",
    "gen1.txt",
    "gen2.txt",
    "itl.txt",
    "report.txt",
    "ttft.txt",
  ]);
  assertEquals(files["gen1.txt"], files["gen2.txt"]);
  assertEquals(
    files["gen1.txt"].trimEnd().split("\n").map((line) => typeof JSON.parse(line)),
    Array(20).fill("string"),
  );
  assertMatch(files["ttft.txt"], /^ttft_ms=\d+\n$/);
  assertMatch(files["itl.txt"], /^count=19 p50_ms=\d+(\.\d+)? p99_ms=\d+(\.\d+)?\n$/);
  assertEquals(files["cancel.txt"], "requested=100 generated=6\n");
  assertMatch(
    files["report.txt"],
    /^ttft_ms=\d+\nitl_p50_ms=\d+(\.\d+)?\ntokens=20\nthroughput_tps=\d+(\.\d+)?\n$/,
  );
  for (const name of Object.keys(files)) assertStringIncludes(stdout, `${out}/${name}`);
});

Deno.test("measure --json prints the figures as one JSON object", async () => {
  await using server = await standIn();
  const { code, stdout } = await measure("--url", server.url, "--max-tokens", "20", "--json");
  const figures = JSON.parse(stdout);
  assertEquals([code, figures.tokens, figures.itl.count, figures.cancel.generated, figures.broken], [
    0,
    20,
    19,
    6,
    [],
  ]);
});

Deno.test("measure exits 1 with one line for a broken bound, a cut stream, a server that is shared, another or gone", async () => {
  await using wasteful = await standIn({ generated: 31 });
  await using short = await standIn({ tokens: 5 });
  await using shared = await standIn({ id: "r-2" });
  await using other = await standIn({ record: { requested: undefined } });
  await using cut = await rawServer({ steps: [SSE_HEAD, 'data: {"token":"a"}\n\n'], end: "fin" });
  await using gone = await rawServer({ steps: [], end: "hold" });
  await gone[Symbol.asyncDispose]();
  for (
    const [url, line] of [
      [
        wasteful.url,
        "measure: the tokens generated for the stream that was left must be at most 30, there were 31",
      ],
      [short.url, "measure: itl count must be at least 19, it is 4"],
      [shared.url, "measure: wanted the record of r-1, got r-2: is the server in use by others?"],
      [
        other.url,
        "measure: /_debug/generated: requested: wanted a number, got nothing: is it a Tokentap?",
      ],
      [
        cut.url,
        "measure: wanted a stream that ends with [DONE], got truncated after 1 tokens (truncated: the response was cut off midway)",
      ],
      [gone.url, `measure: cannot connect to ${gone.url}`],
    ]
  ) {
    const { code, stderr } = await measure("--url", url, "--max-tokens", "20");
    assertEquals(code, 1);
    assertStringIncludes(stderr, line);
    assertEquals(stderr.split("\n").length, 1);
  }
});

Deno.test("measure exits 2 with one line for bad usage", async () => {
  for (
    const [args, part] of [
      [["--max-tokens", "19"], '--max-tokens: wanted a whole number from 20 to 10000000, got "19"'],
      [["--max-tokens", "1e3"], 'got "1e3"'],
      [
        ["--url", "localhost:8170"],
        '--url: wanted an http or https URL without a query, got "localhost:8170"',
      ],
      [["--url", "http://localhost:8170?a"], "without a query"],
      [["--prompt", ""], "--prompt"],
      [["--nope"], "--nope"],
      [["extra"], "extra"],
    ] as const
  ) {
    const { code, stdout, stderr, files } = await measure(...args);
    assertEquals([code, stdout, files], [2, "", {}]);
    assertStringIncludes(stderr, part);
    assertEquals(stderr.split("\n").length, 1);
  }
});

Deno.test("the figures of an earlier run stay until a run has new ones", async () => {
  await using cut = await rawServer((request) => ({
    steps: [
      SSE_HEAD,
      'data: {"token":"a"}\n\n',
      ...(request.includes('"max_tokens":1}') ? ["data: [DONE]\n\n"] : []),
    ],
    end: "fin",
  }));
  await using gone = await rawServer({ steps: [], end: "hold" });
  await gone[Symbol.asyncDispose]();
  const out = await Deno.makeTempDir();
  try {
    const old = `${out}/report.txt`;
    await Deno.writeTextFile(old, "of an earlier run");
    for (const args of [["--url", gone.url], ["--max-tokens", "1"]]) {
      assertGreater((await measure("--out", out, ...args)).code, 0);
      assertEquals(await Deno.readTextFile(old), "of an earlier run");
    }
    const { code, stderr } = await measure("--out", out, "--url", cut.url);
    assertEquals(code, 1);
    assertStringIncludes(stderr, "truncated after 1 tokens");
    assertEquals(await Deno.readTextFile(old), "of an earlier run");
    assertEquals((await measure("--out", out)).code, 0);
    assertMatch(await Deno.readTextFile(old), /^ttft_ms=/);
    assertEquals([...Deno.readDirSync(out)].length, 6);
  } finally {
    await Deno.remove(out, { recursive: true });
  }
});
