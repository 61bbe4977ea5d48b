import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";

/** What `du -sk` may say of an empty DENO_DIR after the first serve. */
const MOST_KIB = 15_000;

/** The part of it that is no package: transpiled sources and deno's own tables (measured: 970 KiB). */
const BESIDE_KIB = 1_250;

/** What a file system hands out at once: `du` counts a file of one byte as this much, and a folder too. */
const BLOCK_KIB = 4;

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

/** Where this deno keeps the packages of its registry, after it has fetched those of the root. */
async function packageCache(): Promise<string> {
  await deno("install", "--quiet");
  const { npmCache }: { npmCache: string } = JSON.parse(await deno("info", "--json"));
  for await (const registry of Deno.readDir(npmCache)) {
    const path = `${npmCache}/${registry.name}`;
    if (await Deno.stat(`${path}/zod`).then(() => true, () => false)) return path;
  }
  throw new Error(`wanted the package zod below ${npmCache}, came none`);
}

async function deno(...args: string[]): Promise<string> {
  const cwd = new URL("..", import.meta.url);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd }).output();
  const text = new TextDecoder();
  if (!success) throw new Error(`deno ${args.join(" ")} failed: ${text.decode(stderr)}`);
  return text.decode(stdout);
}

Deno.test("the packages in the root's lock, all fetched by the first serve, leave the first DENO_DIR under 15 MB", async () => {
  const lock: { npm: Record<string, unknown> } = JSON.parse(
    await Deno.readTextFile(new URL("../deno.lock", import.meta.url)),
  );
  const cache = await packageCache();
  const packages = Object.keys(lock.npm).map(nameAndVersion);
  const sizes = await Promise.all(
    packages.map(([name, version]) => spaceOf(`${cache}/${name}/${version}`)),
  );
  assert(packages.some(([name]) => name === "hono"));
  assert(sizes.every((size) => size > 0));
  const packed = sizes.reduce((sum, size) => sum + size, 0);
  assertLess(packed + BESIDE_KIB, MOST_KIB, "move what only tests need to tests/clients or tests/properties");
  // Below it the measure itself would be wrong: zod alone is more than 8 MB.
  assertGreater(packed, 8_000);
});

Deno.test("the keys of a lock are read with and without scope and peers", () => {
  assertEquals(nameAndVersion("zod@4.6.7"), ["zod", "4.6.7"]);
  assertEquals(nameAndVersion("@a/b@1.2.3_@c+d@4.5.6_e@7.8.9"), ["@a/b", "1.2.3"]);
});
