import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { PENDING, type Token } from "../../lib/engine/engine.ts";
import { grouped } from "../../lib/engine/group.ts";
import { pollable } from "../../lib/engine/pollable.ts";
import { EagerReader } from "../helpers/eager_reader.ts";
import { ManualClock, settle } from "../helpers/manual_clock.ts";
import { NotedWatch } from "../helpers/noted_watch.ts";
import { REQUEST, ScriptedEngine } from "../helpers/scripted_engine.ts";
import { simulation } from "../helpers/simulation.ts";
import { CountedWaiter } from "../helpers/counted_waiter.ts";

const clock = new ManualClock();

function setUp(size: number) {
  const engine = new ScriptedEngine(clock);
  const groups = pollable(
    grouped(engine, size).generate(REQUEST, new AbortController().signal, new NotedWatch()),
  );
  return { source: engine.tokens, groups, reader: () => new EagerReader(groups, clock) };
}

const shapes = (tokens: Token[]) => tokens.map(({ text, tokens }) => [text, tokens]);

Deno.test("groups of one are the engine itself", () => {
  const engine = new ScriptedEngine(clock);
  assertStrictEquals(grouped(engine, 1), engine);
});

Deno.test("tokens come in groups of the size, counted, and the last group is what is left", () => {
  const { source, reader } = setUp(3);
  source.give("a", "b", "c", "d", "e", "f", "g");
  source.end();
  const { tokens, ended } = reader();
  assertEquals([shapes(tokens), ended], [[["abc", 3], ["def", 3], ["g", 1]], true]);
});

Deno.test("an end right after a full group adds none, and no tokens make no group", () => {
  const full = setUp(2);
  full.source.give("a", "b");
  full.source.end();
  assertEquals(shapes(full.reader().tokens), [["ab", 2]]);
  const empty = setUp(2);
  empty.source.end();
  assertEquals(empty.reader().tokens, []);
});

Deno.test("a group is handed over with its last token, not before and not later", () => {
  const { clock, engine } = simulation();
  const watch = new NotedWatch();
  const request = { ...REQUEST, prompt: "hello", maxTokens: 5 };
  const source = pollable(grouped(engine, 2).generate(request, new AbortController().signal, watch));
  const reader = new EagerReader(source, clock);
  clock.advance(10_000);
  assertEquals(reader.at, [220, 260, 280]);
  assertEquals(watch.actual, [200, 220, 240, 260, 280]);
});

Deno.test("what came before a failure is handed over before it", () => {
  const { source, groups, reader } = setUp(4);
  const boom = new Error("boom");
  source.give("a", "b");
  source.fail(boom);
  const { tokens, error } = reader();
  assertEquals([shapes(tokens), error], [[["ab", 2]], boom]);
  assertStrictEquals(assertThrows(() => groups.poll(new CountedWaiter())), boom);
});

Deno.test("a failure with nothing before it comes at once", () => {
  const { source, reader } = setUp(4);
  source.fail(new Error("boom"));
  assertEquals(reader().tokens, []);
});

Deno.test("a malformed event stands alone and keeps its place among the tokens", () => {
  const { source, reader } = setUp(3);
  source.give("a", "b", { text: "", tokens: 0, wire: "malformed" }, "c", "d", "e");
  source.end();
  const { tokens } = reader();
  assertEquals(shapes(tokens), [["ab", 2], ["", 0], ["cde", 3]]);
  assertEquals(tokens.map(({ wire }) => wire), [undefined, "malformed", undefined]);
});

Deno.test("a group with a split token is split", () => {
  const { source, reader } = setUp(2);
  source.give("a", { text: "é", tokens: 1, wire: "split" }, "b", "c");
  source.end();
  assertEquals(reader().tokens.map(({ wire }) => wire), ["split", undefined]);
});

Deno.test("thought and said text never share a group", () => {
  const { source, reader } = setUp(4);
  source.give(
    { text: "a", tokens: 1, reasoning: true },
    { text: "b", tokens: 2, reasoning: true },
    "c",
    "d",
  );
  source.end();
  const { tokens } = reader();
  assertEquals(tokens, [{ text: "ab", tokens: 3, reasoning: true }, { text: "cd", tokens: 2 }]);
});

Deno.test("leaving drops the half-filled group and returns the source", async () => {
  const { source, groups } = setUp(3);
  source.give("a", "b");
  assertEquals(groups.poll(new CountedWaiter()), PENDING);
  await groups.return();
  assertEquals(source.returns, 1);
  source.end();
  assertEquals(new EagerReader(groups, clock).tokens, []);
});

Deno.test("whether the generation starts is known of a group as of its source", async () => {
  const engine = {
    name: "late",
    countTokens: () => 1,
    // deno-lint-ignore require-yield -- it refuses before there is a token
    generate: async function* (): AsyncGenerator<Token> {
      await undefined;
      throw new Error("refused");
    },
  };
  const source = pollable(
    grouped(engine, 2).generate(REQUEST, new AbortController().signal, new NotedWatch()),
  );
  let refused: unknown;
  source.started!.catch((error) => refused = error);
  await settle();
  assertEquals((refused as Error).message, "refused");
});
