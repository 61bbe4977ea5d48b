import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";

/**
 * What `du -sk` may say of an empty DENO_DIR after the first serve, but for what the registry tells of all versions of
 * a package: 480 KiB beside it, which grows without us.
 */
const MAX_KIB = 15_000;

/** What a file system hands out at once: `du` counts a file of one byte as this much, and a folder too. */
const BLOCK_KIB = 4;

/** The folders that lead to this checkout: the cache of transpiled sources repeats them, wherever it lies. */
const FOLDERS_ABOVE = new URL("..", import.meta.url).pathname.split("/").length - 2;

/** `@a/b@1.2.3_c@4.5.6` → `@a/b`, `1.2.3`: behind the underscore stand peers. */
function nameAndVersion(key: string): [name: string, version: string] {
  const at = key.indexOf("@", 1);
  return [key.slice(0, at), key.slice(at + 1).split("_")[0]];
}

/** Disk space of a folder as `du -sk` counts it, in KiB. */
async function spaceOf(path: string): Promise<number> {
  let blocks = 1;
  for await (const entry of Deno.readDir(path)) {
    const below = `${path}/${entry.name}`;
    blocks += entry.isDirectory
      ? await spaceOf(below) / BLOCK_KIB
      : Math.ceil((await Deno.stat(below)).size / 1024 / BLOCK_KIB);
  }
  return blocks * BLOCK_KIB;
}

/** Where this deno keeps its packages, and the folder there of its registry, after it has fetched those of the root. */
async function packageCache(): Promise<{ npmCache: string; registry: string }> {
  await deno(["install", "--quiet"]);
  const { npmCache }: { npmCache: string } = JSON.parse(await deno(["info", "--json"]));
  for await (const registry of Deno.readDir(npmCache)) {
    const { name } = registry;
    if (await Deno.stat(`${npmCache}/${name}/zod`).then(() => true, () => false)) {
      return { npmCache, registry: name };
    }
  }
  throw new Error(`wanted the package zod below ${npmCache}, came none`);
}

async function deno(args: string[], env: Record<string, string> = {}): Promise<string> {
  const cwd = new URL("..", import.meta.url);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd, env }).output();
  const text = new TextDecoder();
  if (!success) throw new Error(`deno ${args.join(" ")} failed: ${text.decode(stderr)}`);
  return text.decode(stdout);
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copy(`${from}/${name}`, `${to}/${name}`);
    else await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

Deno.test("the first serve leaves an empty DENO_DIR under 15,000 KiB", async () => {
  const lock: { npm: Record<string, unknown> } = JSON.parse(
    await Deno.readTextFile(new URL("../deno.lock", import.meta.url)),
  );
  const packages = Object.keys(lock.npm).map(nameAndVersion);
  assert(packages.some(([name]) => name === "hono"));
  const { npmCache, registry } = await packageCache();
  const home = await Deno.makeTempDir({ prefix: "tokentap-deno-dir-" });
  try {
    // As fetched: all that the lock names, since the first run fetches what only tests import as well.
    for (const [name, version] of packages) {
      const path = `${registry}/${name}/${version}`;
      await copy(`${npmCache}/${path}`, `${home}/npm/${path}`);
    }
    const packed = await spaceOf(`${home}/npm`);
    // Below it the measure itself would be wrong: zod alone is more than 8 MB.
    assertGreater(packed, 8_000);
    const serve = ["run", "--no-code-cache", "--cached-only", "-A", "main.ts", "--help"];
    await deno(serve, { DENO_DIR: home });
    const whole = await spaceOf(home) - FOLDERS_ABOVE * BLOCK_KIB;
    assertGreater(whole, packed, "the sources are transpiled there too");
    assertLess(whole, MAX_KIB, "move what only tests need to a project of its own below tests/");
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});

Deno.test("the keys of a lock are read with and without scope and peers", () => {
  assertEquals(nameAndVersion("zod@4.6.7"), ["zod", "4.6.7"]);
  assertEquals(nameAndVersion("@a/b@1.2.3_@c+d@4.5.6_e@7.8.9"), ["@a/b", "1.2.3"]);
});
