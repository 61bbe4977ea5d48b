import { assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { judge } from "./laws/all.ts";
import { reachable, usedExports } from "./laws/dead_code.ts";
import { direction } from "./laws/direction.ts";
import { EXCEPTIONS, plain } from "./laws/plain.ts";
import { settings } from "./laws/settings.ts";
import { barrels, length } from "./laws/shape.ts";
import type { Source } from "./laws/source.ts";
import { versions } from "./laws/versions.ts";

for (const [law, faults] of Object.entries(judge(new URL("../", import.meta.url)))) {
  Deno.test(`the house keeps its law: ${law}`, () => assertEquals(faults, []));
}

/** A small house that keeps every law; a bad sample replaces one file or adds one. */
const house: Record<string, string> = {
  "main.ts":
    `import { createApp } from "./routes/app.ts";\nimport { port } from "./lib/config.ts";\nserve(createApp(), port);`,
  "routes/app.ts":
    `import { Hono } from "hono";\nimport { body } from "../lib/stream/body.ts";\nexport const createApp = () => new Hono(body());`,
  "lib/config.ts": `import { z } from "zod";\nexport const port = z.number().parse(1);`,
  "lib/engine/engine.ts": `import { port } from "../config.ts";\nexport const engine = () => port;`,
  "lib/stream/body.ts":
    `import { engine } from "../engine/engine.ts";\nexport function body() { return engine(); }`,
  "lib/event_feed.ts":
    `import { createParser } from "eventsource-parser";\nexport const feed = createParser;`,
  "lib/client/events.ts": `import { feed } from "../event_feed.ts";\nexport const events = feed;`,
  "bench/measure.ts":
    `import { events } from "../lib/client/events.ts";\nevents(new URL("./worker.ts", import.meta.url));`,
  "bench/worker.ts": `postMessage(1);`,
  "tests/body_test.ts": `import { body } from "../lib/stream/body.ts";\nbody();`,
};
const tasks = `"measure": "deno run bench/measure.ts"`;

function withFile(path: string, text: string): Source[] {
  return Object.entries({ ...house, [path]: text }).map(([path, text]) => ({ path, text }));
}

const laws: Record<string, (sources: Source[]) => string[]> = {
  direction,
  plain: (sources) => plain(sources, {}),
  length,
  barrels,
  reachable: (sources) => reachable(sources, tasks, {}),
  usedExports,
};

const add = (path: string, line: string): [string, string] => [path, `${line}\n${house[path] ?? ""}`];

/** Each: the law, what is bad, the file, and a word of the complaint. */
const bad: [law: string, what: string, file: [string, string], says: string][] = [
  [
    "direction",
    "lib imports routes",
    add("lib/config.ts", `import "../routes/app.ts";`),
    "imports routes/app.ts",
  ],
  ["direction", "routes import main", add("routes/app.ts", `import "../main.ts";`), "imports main.ts"],
  [
    "direction",
    "the engine imports the stream",
    add("lib/engine/engine.ts", `import type { A } from "../stream/body.ts";`),
    "lib/stream/body.ts",
  ],
  [
    "direction",
    "the stream imports the client",
    add("lib/stream/body.ts", `export { a } from "../client/events.ts";`),
    "lib/client/events.ts",
  ],
  [
    "direction",
    "settings import the engine",
    add("lib/config.ts", `const a = await import("./engine/engine.ts");`),
    "lib/engine/engine.ts",
  ],
  [
    "direction",
    "lib imports a test",
    add("lib/config.ts", `import "../tests/body_test.ts";`),
    "tests/body_test.ts",
  ],
  [
    "direction",
    "bench imports routes",
    add("bench/measure.ts", `import "../routes/app.ts";`),
    "routes/app.ts",
  ],
  ["direction", "lib imports hono", add("lib/config.ts", `import { A } from "hono/sse";`), '"hono/sse"'],
  [
    "direction",
    "the stream imports the parser",
    add("lib/stream/body.ts", `import { a } from "eventsource-parser";`),
    "eventsource-parser",
  ],
  ["direction", "a version in place", add("lib/config.ts", `import { a } from "npm:zod@4";`), "npm:zod@4"],
  [
    "direction",
    "a missing file",
    add("lib/config.ts", `import { a } from "./gone.ts";`),
    "which is not there",
  ],
  ["direction", "a version in bench", add("bench/measure.ts", `import a from "npm:a@4.0.0";`), "npm:a@4"],
  ["direction", "a file in no room", ["lib/new/a.ts", ""], "lies in no room"],
  ["plain", "Deno in lib", add("lib/config.ts", `const a = Deno.env;`), "lib/config.ts:1: uses Deno"],
  ["plain", "Deno in a template", add("lib/config.ts", "const a = `${Deno.env}`;"), "uses Deno"],
  ["plain", "Deno in routes", add("routes/app.ts", `const a = Deno.env;`), "uses Deno"],
  ["plain", "node's process", add("lib/config.ts", `const a = process.env;`), "uses process"],
  ["plain", "a node module", add("lib/config.ts", `import { a } from "node:fs";`), '"node:fs"'],
  ["plain", "hono in lib", add("lib/config.ts", `import { a } from "hono";`), '"hono"'],
  ["length", "a long file", ["lib/config.ts", "a\n".repeat(251)], "251 lines"],
  ["barrels", "a star", ["lib/mod.ts", `/** All. */\nexport * from "./config.ts";\n`], "lib/mod.ts"],
  ["barrels", "a list", [
    "lib/mod.ts",
    `export { port, type A } from "./config.ts"; export type { B } from "./b.ts";`,
  ], "lib/mod.ts"],
  [
    "barrels",
    "import, then export",
    ["lib/mod.ts", `import { port } from "./config.ts";\nexport { port };`],
    "lib/mod.ts",
  ],
  ["reachable", "a file that nothing imports", ["lib/lost.ts", "const a = 1;"], "lib/lost.ts"],
  ["reachable", "two files that import each other", ["lib/lost.ts", `import "./lost.ts";`], "lib/lost.ts"],
  [
    "usedExports",
    "an export without a taker",
    add("lib/config.ts", `export const host = 1;`),
    "exports host, which no other",
  ],
  [
    "usedExports",
    "a file that imports itself",
    add("lib/config.ts", `import { a } from "./config.ts"; export const a = 1;`),
    "exports a",
  ],
  ["usedExports", "a default without a taker", add("lib/config.ts", `export default 1;`), "exports default"],
  ["usedExports", "only its test calls it", [
    "lib/client/events.ts",
    `export const events = 1;\nexport const only = 1;`,
  ], "exports only"],
  [
    "usedExports",
    "taken from another file",
    add("lib/engine/engine.ts", `export const port2 = 1;`),
    "exports port2",
  ],
];

for (const [name, law] of Object.entries(laws)) {
  Deno.test(`the law ${name} has nothing against a house in order`, () => {
    assertEquals(law(withFile("main.ts", house["main.ts"])), []);
  });
}

for (const [name, what, [path, text], says] of bad) {
  Deno.test(`the law ${name} sees: ${what}`, () => {
    const faults = laws[name](withFile(path, text));
    assertNotEquals(faults, []);
    assertStringIncludes(faults.join("\n"), says);
  });
}

Deno.test("an export that only tests import is dead, unless its own file uses it", () => {
  const test = { path: "tests/a_test.ts", text: `import { a } from "../lib/a.ts";` };
  const dead = { path: "lib/a.ts", text: "export const a = 1;" };
  const used = { path: "lib/a.ts", text: "export const a = 1;\nconsole.log(a);" };
  assertEquals(usedExports([dead, test]), ["lib/a.ts: exports a, which only tests use"]);
  assertEquals(usedExports([used, test]), []);
});

Deno.test("a type may be exported for a signature of its own file, and only then", () => {
  const alone = { path: "lib/a.ts", text: "export interface Options { a: number }" };
  const inUse = {
    path: "lib/a.ts",
    text: "export interface Options { a: number }\nfunction f(o: Options) {}",
  };
  assertEquals(usedExports([alone]).length, 1);
  assertEquals(usedExports([inUse]), []);
});

Deno.test("files that import each other are followed once", () => {
  assertEquals(reachable(withFile(...add("lib/config.ts", `import "./engine/engine.ts";`)), tasks, {}), []);
});

Deno.test("an exception or entry point that is not needed is a fault itself", () => {
  assertEquals(plain([{ path: "lib/a.ts", text: "Deno.pid" }], { "lib/a.ts": "asks for its pid" }), []);
  assertEquals(plain([{ path: "lib/a.ts", text: "1" }], { "lib/a.ts": "asks for its pid" }).length, 1);
  assertEquals(reachable([], "", { "lib/a.ts": "run by hand" }).length, 1);
});

Deno.test("the type-check of lib leaves out the excepted files and no others", async () => {
  const text = await Deno.readTextFile(new URL("tsc/tsconfig.json", import.meta.url));
  const { exclude }: { exclude: string[] } = JSON.parse(text);
  assertEquals(
    exclude.toSorted(),
    Object.keys(EXCEPTIONS).filter((path) => path.startsWith("lib/")).map((path) => `../../${path}`)
      .toSorted(),
  );
});

Deno.test("the law versions wants exact versions, and the same ones everywhere", () => {
  const root = {
    imports: { zod: "npm:zod@4.6.7", "hono/": "npm:/hono@4.13.19/", "@std/assert": "jsr:@std/assert@^1" },
  };
  assertEquals(versions({ root, other: { imports: { zod: "npm:zod@4.6.7", ai: "npm:@a/ai@7.0.1" } } }), []);
  assertEquals(versions({ root, other: { imports: { zod: "npm:zod@4.6.6" } } }).length, 1);
  assertEquals(versions({ root: { imports: { zod: "npm:zod@^4.6.7" } } }).length, 1);
  assertEquals(versions({ root: { imports: { zod: "npm:zod" } } }).length, 1);
});

Deno.test("the law settings wants one row for each setting, as the schema has it, and no other", () => {
  const port = { flag: "--port", env: "TOKENTAP_PORT", default: "8170", about: "port to listen on" };
  const row = "| `--port` | `TOKENTAP_PORT` |   `8170` | port to listen on |";
  assertEquals(settings(`| flag | variable |\n| ---- | --- |\n${row}\n`, [port]), []);
  assertEquals(settings("", [port]).length, 1);
  assertEquals(settings(row, []), ["README.md: has a row for --port, which is no setting"]);
  assertEquals(settings(`${row}\n${row}`, [port]).length, 1);
  for (const other of [{ default: "80" }, { env: "PORT" }, { about: "harbour" }]) {
    const [fault] = settings(row, [{ ...port, ...other }]);
    assertEquals(settings(fault.slice(fault.indexOf("|")), [{ ...port, ...other }]), []);
  }
});
