import { assertEquals, assertLess, assertMatch } from "@std/assert";
import { MAX_MODEL_LEN } from "../../lib/config.ts";
import { overUpstream, response } from "../helpers/scripted_upstream.ts";
import type { Script } from "../helpers/raw_server.ts";
import { until } from "../helpers/until.ts";

const JSON_TYPE = "Content-Type: application/json\r\n";
const list = (data: unknown) => response("200 OK", JSON_TYPE, JSON.stringify({ object: "list", data }));

const VLLM = {
  id: "meta/llama",
  object: "model",
  created: 1700000000,
  owned_by: "vllm",
  root: "/models/secret",
  parent: null,
  max_model_len: 4096,
  permission: [{ id: "perm" }],
};

async function get(url: string) {
  const reply = await fetch(url, { headers: { authorization: "Bearer theirs", cookie: "a=b" } });
  return { status: reply.status, json: await reply.json() };
}

Deno.test("where clients choose the model they are told which an upstream has, and no more of it than they need", async () => {
  await using over = await overUpstream(
    list([VLLM, { id: "small" }, { id: 7 }, null, { id: "x".repeat(257) }]),
    {
      model: "",
      apiKey: "ours",
      settings: { maxModelLen: MAX_MODEL_LEN },
    },
  );
  const { status, json } = await get(`${over.service.url}/v1/models`);
  assertEquals([status, json.object], [200, "list"]);
  const [first, second] = json.data;
  const { root: _root, parent: _parent, permission: _permission, ...told } = VLLM;
  assertEquals(first, told);
  assertEquals([second.id, second.object, second.owned_by, second.max_model_len], [
    "small",
    "model",
    "upstream",
    undefined,
  ]);
  assertEquals(json.data.length, 2);
  const { head, closed } = over.upstream.requests[0];
  assertMatch(head, /^GET \/v1\/models HTTP\/1\.1\r\n/);
  assertMatch(head, /\r\nauthorization: Bearer ours\r\n/);
  assertEquals(/theirs|a=b/.test(head), false);
  await closed;
});

Deno.test("one of an upstream's models is found by its name, another is not there", async () => {
  await using over = await overUpstream(list([VLLM, { id: "small" }]), { model: "" });
  const found = await get(`${over.service.url}/v1/models/meta/llama`);
  assertEquals([found.status, found.json.id, found.json.max_model_len], [200, "meta/llama", 4096]);
  const { status, json } = await get(`${over.service.url}/v1/models/other`);
  assertEquals([status, json.error.code, json.error.param], [404, "model_not_found", "model"]);
});

Deno.test("where all requests go to one model, that is the one there is, and the upstream is not asked", async () => {
  await using over = await overUpstream(list([VLLM]));
  const { status } = await get(`${over.service.url}/v1/models`);
  assertEquals([status, over.upstream.requests.length], [200, 0]);
});

const FAULTS: Record<string, [Script, number, RegExp]> = {
  "no such route": [response("404 Not Found", JSON_TYPE, '{"detail":"Not Found"}'), 502, /end in \/v1/],
  "no such route, by its path": [
    response("404 Not Found", JSON_TYPE, '{"error":{"message":"nothing at /models"}}'),
    502,
    /end in \/v1/,
  ],
  "its key refused": [response("401 Unauthorized", JSON_TYPE, "{}"), 502, /key \(401\)/],
  "overloaded": [response("503 Service Unavailable", "Retry-After: 3\r\n"), 503, /503/],
  "HTML": [
    response("200 OK", "Content-Type: text/html\r\n", "<html>secret</html>"),
    502,
    /no list of its models/,
  ],
  "JSON that is no list": [
    response("200 OK", JSON_TYPE, '{"data":{"secret":1}}'),
    502,
    /no list of its models/,
  ],
  "null": [response("200 OK", JSON_TYPE, "null"), 502, /no list of its models/],
  "a body cut off": [
    { steps: [`HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"data":[`], end: "reset" },
    502,
    /no list/,
  ],
  "no HTTP": [{ steps: ["SSH-2.0-secret\r\n\r\n"], end: "fin" }, 502, /no list of its models/],
  "silence": [{ steps: [], end: "hold" }, 504, /within 0\.25 s\./],
  "silence in the middle": [{ steps: ["HTTP/1.1 200 OK\r\n\r\n{"], end: "hold" }, 504, /within 0\.25 s\./],
};

for (const [name, [script, wanted, told]] of Object.entries(FAULTS)) {
  Deno.test(`an upstream that does not list its models is told of as what it did: ${name}`, async () => {
    await using over = await overUpstream(script, { model: "", limits: { connectMs: 150, idleMs: 100 } });
    const { status, json } = await get(`${over.service.url}/v1/models`);
    assertEquals(status, wanted);
    assertMatch(json.error.message, told);
    assertEquals(JSON.stringify(json).includes("secret"), false);
    await over.upstream.requests[0].closed;
  });
}

Deno.test("a client that leaves while an upstream keeps its list to itself ends the asking", async () => {
  await using over = await overUpstream({ steps: [], end: "hold" }, { model: "" });
  const leaving = new AbortController();
  const reply = fetch(`${over.service.url}/v1/models`, { signal: leaving.signal }).catch(() => "left");
  const { closed } = await until("the upstream is asked", () => over.upstream.requests[0]);
  const from = performance.now();
  leaving.abort();
  assertEquals(await reply, "left");
  assertLess(await closed - from, 500);
  await over.service[Symbol.asyncDispose]();
  assertEquals(over.service.refused, [], "nobody has failed");
});

Deno.test("where all requests go to one model there is no other", async () => {
  await using over = await overUpstream(list([]), {
    model: "org/one",
    settings: { upstreamModel: "org/one" },
  });
  const models = `${over.service.url}/v1/models`;
  assertEquals((await get(models)).json.data.map(({ id }: { id: string }) => id), ["org/one"]);
  assertEquals((await get(`${models}/org/one`)).json.id, "org/one");
  const { status, json } = await get(`${models}/gpt`);
  assertEquals([status, json.error.message], [
    404,
    'The model "gpt" does not exist; this server has "org/one".',
  ]);
});
