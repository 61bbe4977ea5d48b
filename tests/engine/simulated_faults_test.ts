import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { ENDED } from "../../lib/engine/engine.ts";
import { CutStream } from "../../lib/engine/faults.ts";
import { grouped } from "../../lib/engine/group.ts";
import { pollable } from "../../lib/engine/pollable.ts";
import { generate } from "../../lib/engine/vocabulary.ts";
import { TapError } from "../../lib/errors.ts";
import { simulation } from "../helpers/simulation.ts";
import { CountedWaiter } from "../helpers/counted_waiter.ts";
import { EagerReader } from "../helpers/eager_reader.ts";
import { NotedWatch } from "../helpers/noted_watch.ts";

const MAX = 5;
const steps = (n: number, from: number, step: number) => Array.from({ length: n }, (_, i) => from + i * step);

/** A generation of `MAX` tokens with this fault, run to its end. */
function suffer(fault: string, maxTokens = MAX) {
  const { clock, engine, run } = simulation();
  const { watch, reader, tokens } = run({ fault, maxTokens });
  let failedAt: number | undefined;
  let endedAt: number | undefined;
  for (let ms = 0; ms < 2000; ms++) {
    clock.advance(1);
    if (reader.error !== undefined) failedAt ??= clock.now();
    if (reader.ended) endedAt ??= clock.now();
  }
  return { clock, engine, watch, reader, tokens, failedAt, endedAt };
}

for (const at of [1, 3, MAX]) {
  Deno.test(`error@${at} comes after ${at} tokens, when the next would have`, () => {
    const { watch, reader, failedAt } = suffer(`error@${at}:overloaded`);
    assertInstanceOf(reader.error, TapError);
    assertEquals(reader.error.code, "overloaded");
    assertEquals([watch.tokens, reader.texts, reader.ended], [at, generate("hello", at), false]);
    assertEquals(failedAt, 200 + 20 * at);
  });
}

Deno.test("error@0 and status: refuse before the generation takes a place", () => {
  const { engine, begin } = simulation();
  assertEquals(assertThrows(() => begin({ fault: "error@0:overloaded" }), TapError).code, "overloaded");
  const error = assertThrows(() => begin({ fault: "status:429" }), TapError);
  assertEquals([error.status, error.retryAfter, engine.slots().in_use], [429, 1, 0]);
});

for (const refusal of ["error@0:overloaded", "status:503"]) {
  Deno.test(`${refusal} refuses after the silence asked for before it, and takes no place meanwhile`, () => {
    for (
      const fault of [
        `stall@0:800,${refusal}`,
        `${refusal},slow@0:500,stall@0:300`,
        `split@0,stall@0:800,${refusal}`,
      ]
    ) {
      const { clock, engine, run } = simulation();
      const { tokens, reader } = run({ fault });
      assertEquals([tokens.refused, engine.slots().in_use], [true, 0]);
      clock.advance(799);
      assertEquals([reader.error, reader.ended], [undefined, false]);
      clock.advance(1);
      assertEquals((reader.error as TapError).code, "overloaded");
    }
  });

  Deno.test(`not in real time ${refusal} waits for no silence`, () => {
    const { begin } = simulation({ realtime: false });
    assertThrows(() => begin({ fault: `stall@0:800,${refusal}` }), TapError);
  });

  Deno.test(`${refusal} is an event where something else was asked for before it`, () => {
    const broken = suffer(`malformed@0,${refusal}`);
    assertEquals([broken.reader.tokens.map(({ wire }) => wire), broken.failedAt], [["malformed"], 200]);
    assertEquals((broken.reader.error as TapError).code, "overloaded");
    assertInstanceOf(suffer(`close@0,${refusal}`).reader.error, CutStream);
  });
}

Deno.test("whoever leaves while a refusal is silent has left", async () => {
  const { clock, run } = simulation();
  const { tokens, reader } = run({ fault: "stall@0:800,status:503" });
  await tokens.return();
  clock.advance(1000);
  await tokens.started;
  assertEquals([reader.error, tokens.poll(new CountedWaiter())], [undefined, ENDED]);
});

Deno.test("what came before a silence is not held back to fill an event", () => {
  const { clock, engine } = simulation();
  const request = { id: "id", key: "", prompt: "hello", maxTokens: 9, promptTokens: 1 };
  const tokens = grouped(engine, 4).generate(
    { ...request, fault: "stall@6:100" },
    new AbortController().signal,
    new NotedWatch(),
  );
  const reader = new EagerReader(pollable(tokens), clock);
  clock.advance(1000);
  assertEquals(reader.tokens.map(({ tokens }) => tokens), [4, 2, 3]);
  assertEquals(reader.at, [260, 300, 460]);
});

Deno.test("an unknown fault refuses before the generation takes a place", () => {
  const { engine, begin } = simulation();
  assertEquals(assertThrows(() => begin({ fault: "boom@1" }), TapError).code, "invalid_request");
  assertEquals(engine.slots().in_use, 0);
});

for (const how of ["close", "reset"] as const) {
  for (const at of [0, 3, MAX]) {
    Deno.test(`${how}@${at} cuts the stream after ${at} tokens`, () => {
      const { watch, reader, failedAt } = suffer(`${how}@${at}`);
      assertInstanceOf(reader.error, CutStream);
      assertEquals([reader.error.how, watch.tokens, reader.ended], [how, at, false]);
      assertEquals(failedAt, 200 + 20 * at);
    });
  }
}

for (const at of [0, 3, MAX]) {
  Deno.test(`malformed@${at} adds one wrong event after ${at} tokens, which is no token`, () => {
    const { watch, reader } = suffer(`malformed@${at}`);
    assertEquals(reader.tokens.map(({ wire }) => wire === "malformed").indexOf(true), at);
    assertEquals(reader.tokens[at], { text: "", tokens: 0, wire: "malformed" });
    assertEquals([reader.texts.join(""), reader.ended], [generate("hello", MAX).join(""), true]);
    assertEquals([watch.tokens, watch.planned], [MAX, steps(MAX, 200, 20)]);
  });
}

Deno.test("split@N marks the first token from N on that has a character of several bytes, and no other", () => {
  const { reader } = suffer("split@2", 12);
  const wide = generate("hello", 12).findIndex((text, i) => i >= 2 && /[^\0-\x7f]/.test(text));
  assertEquals(wide, 5);
  assertEquals(reader.tokens.map(({ wire }) => wire ?? "").join(), ",,,,,split,,,,,,");
  assertEquals([reader.texts, reader.ended], [generate("hello", 12), true]);
});

Deno.test("a split that finds no such character is of the last token", () => {
  const { reader } = suffer("split@2");
  assertEquals(reader.tokens.map(({ wire }) => wire ?? "").join(), ",,,,split");
  assertEquals([reader.texts, reader.ended], [generate("hello", MAX), true]);
});

Deno.test("a split beyond the last token leaves the stream as it is", () => {
  for (const fault of ["split@5", "split@9"]) {
    const { reader, endedAt } = suffer(fault);
    assertEquals([reader.texts, endedAt], [generate("hello", MAX), 280]);
    assertEquals(reader.tokens.some(({ wire }) => wire), false);
  }
});

for (const kind of ["stall", "slow"]) {
  for (const at of [0, 3]) {
    Deno.test(`${kind}@${at}:100 makes token ${at} 100 ms late and moves those after it`, () => {
      const { watch, reader } = suffer(`${kind}@${at}:100`);
      const planned = steps(MAX, 200, 20).map((due, i) => i >= at ? due + 100 : due);
      assertEquals([watch.planned, watch.actual, reader.ended], [planned, planned, true]);
    });
  }

  Deno.test(`${kind}@${MAX}:100 keeps the end back by 100 ms, and no token more is made`, () => {
    const { clock, run } = simulation();
    const { watch, reader } = run({ fault: `${kind}@${MAX}:100` });
    clock.advance(280 + 20 + 99);
    assertEquals([watch.tokens, reader.ended], [MAX, false]);
    clock.advance(1);
    assertEquals([watch.tokens, reader.ended, watch.reason], [MAX, true, "length"]);
  });
}

Deno.test("stall@N without a time is an hour of silence", () => {
  const { clock, run } = simulation();
  const { watch } = run({ fault: "stall@2" });
  clock.advance(3_600_000);
  assertEquals(watch.tokens, 2);
  clock.advance(240);
  assertEquals(watch.tokens, 3);
});

Deno.test("a fault beyond the last token never comes", () => {
  for (const fault of ["error@6", "close@6", "reset@6", "malformed@6", "stall@6", "slow@6:100"]) {
    const { reader } = suffer(fault);
    assertEquals([reader.texts, reader.error, reader.ended], [generate("hello", MAX), undefined, true]);
  }
});

Deno.test("several faults come each at its token", () => {
  const { watch, reader } = suffer("slow@1:50,malformed@2,slow@2:10,error@3");
  assertEquals(watch.planned, [200, 270, 300]);
  assertEquals(reader.tokens.map(({ wire }) => wire ?? "").join(), ",,malformed,");
  assertInstanceOf(reader.error, TapError);
});

Deno.test("of two faults at one token neither is passed over", () => {
  const { watch, reader } = suffer("split@2,malformed@2,error@2");
  assertEquals([watch.tokens, reader.tokens.length], [2, 3]);
  assertInstanceOf(reader.error, TapError);
});

Deno.test("a failure is thrown again at each poll, and the slot is free once the source is returned", () => {
  const { engine, tokens, reader } = suffer("error@2");
  assertThrows(() => tokens.poll(new CountedWaiter()), TapError);
  assertEquals(reader.tokens.length, 2);
  assertEquals(engine.slots().in_use, 1);
  tokens.return();
  assertEquals(engine.slots().in_use, 0);
});

Deno.test("not in real time the faults come at the same tokens, and silence takes none", () => {
  const { clock, run } = simulation({ realtime: false });
  const { watch, reader } = run({ fault: "stall@1,stall@5,malformed@2" });
  assertEquals([watch.tokens, reader.tokens.length, reader.ended, clock.now()], [5, 6, true, 0]);
});
