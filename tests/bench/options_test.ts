import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { parseOptions as peers } from "../../bench/peers/options.ts";
import { UsageError } from "../../bench/options.ts";
import { prepareFile, prepareFolder, writeAll, writeJson } from "../../bench/results.ts";

Deno.test("a process without the address of its server is refused by bench:peers: it would measure another", () => {
  const { message } = assertThrows(() => peers(["--pid", "7"]), UsageError);
  assertStringIncludes(message, "--pid: wanted --url with it");
  const options = peers(["--pid", "7", "--url", "http://127.0.0.1:1"]);
  assertEquals(options !== "help" && options.pid, 7);
});

Deno.test("bench:peers refuses what it would pass over: more of an address than its port, and options that another makes void", () => {
  for (
    const [args, line] of [
      [
        ["--url", "https://127.0.0.1:22000/v1?x=1"],
        '--url: wanted http://127.0.0.1:PORT and nothing after it, got "https://127.0.0.1:22000/v1?x=1"',
      ],
      [["--url", "http://127.0.0.1:1/v1"], '--url: wanted http://127.0.0.1:PORT and nothing after it, got "'],
      [["--url", "http://10.0.0.1:1"], "--url: wanted http://127.0.0.1:PORT and nothing after it"],
      [
        ["--url", "http://127.0.0.1:70000"],
        '--url: wanted a port from 0 to 65535, got "http://127.0.0.1:70000"',
      ],
      [["--url", "http://localhost:1/", "--only", "go"], "--only: wanted no --url with it"],
      [
        ["--total-rate", "5000", "--itl", "20"],
        "--itl: wanted no --total-rate with it, which sets it, got 5000",
      ],
    ] as const
  ) {
    assertStringIncludes(assertThrows(() => peers([...args]), UsageError).message, line);
  }
  const options = peers(["--url", "http://localhost:22000/"]);
  assertEquals(options !== "help" && [options.url?.port, options.itl], ["22000", 20]);
});

Deno.test("of a list the element that cannot be used is named", () => {
  const { message } = assertThrows(() => peers(["--streams", "1,0"]), UsageError);
  assertEquals(message, '--streams: wanted a whole number from 1 to 20000, got "0" in "1,0"');
  assertStringIncludes(
    assertThrows(() => peers(["--only", "go,rust"]), UsageError).message,
    'got "rust" in "go,rust"',
  );
});

Deno.test("results are refused a folder's name and a closed folder before the work, get the folders they lack, and come all or not", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const { message } = await assertRejects(() => prepareFile("--out", folder), UsageError);
    assertEquals(message, `--out: wanted a file, got the folder "${folder}"`);
    await prepareFile("--out", `${folder}/a/b.json`);
    const named = await assertRejects(() => prepareFolder("--out", folder, ["b.txt", "a"]), UsageError);
    assertEquals(named.message, `--out: wanted a file, got the folder "${folder}/a"`);
    const tried = await assertRejects(() => prepareFolder("--out", "/proc", []), UsageError);
    assertStringIncludes(tried.message, '--out: wanted a folder to write to, got "/proc" (');
    await writeJson(`${folder}/a/b.json`, { a: 1 });
    assertEquals(JSON.parse(await Deno.readTextFile(`${folder}/a/b.json`)), { a: 1 });
    await prepareFile("--out", `${folder}/a/b.json`);
    assertEquals(JSON.parse(await Deno.readTextFile(`${folder}/a/b.json`)), { a: 1 }, "left as it was");
    assertEquals([...Deno.readDirSync(`${folder}/a`)].map(({ name }) => name), ["b.json"]);
    await assertRejects(() => writeAll({ [`${folder}/a/b.json`]: "new", [`${folder}/none/c`]: "new" }));
    assertEquals(JSON.parse(await Deno.readTextFile(`${folder}/a/b.json`)), { a: 1 }, "all or none");
    assertEquals([...Deno.readDirSync(`${folder}/a`)].map(({ name }) => name), ["b.json"], "nothing aside");
    await Deno.symlink(`${folder}/a/b.json`, `${folder}/link`);
    await prepareFile("--out", `${folder}/link`);
    await writeJson(`${folder}/link`, { a: 2 });
    assertEquals((await Deno.lstat(`${folder}/link`)).isSymlink, true);
    assertEquals(JSON.parse(await Deno.readTextFile(`${folder}/a/b.json`)), { a: 2 });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
