import { assert, assertEquals, assertLess } from "@std/assert";

/** Bytes of unpacked packages; what serving fetches into an empty cache beside the transpiled sources. */
const MOST = 15_000_000;

/** `@a/b@1.2.3_c@4.5.6` → `@a/b`, `1.2.3`: behind the underscore stand peers. */
function nameAndVersion(key: string): [name: string, version: string] {
  const at = key.indexOf("@", 1);
  return [key.slice(0, at), key.slice(at + 1).split("_")[0]];
}

async function bytesBelow(path: string): Promise<number> {
  let bytes = 0;
  for await (const entry of Deno.readDir(path)) {
    const below = `${path}/${entry.name}`;
    bytes += entry.isDirectory ? await bytesBelow(below) : (await Deno.stat(below)).size;
  }
  return bytes;
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

Deno.test("the packages in the root's lock, all fetched by the first serve, stay under 15 MB", async () => {
  const lock: { npm: Record<string, unknown> } = JSON.parse(
    await Deno.readTextFile(new URL("../deno.lock", import.meta.url)),
  );
  const cache = await packageCache();
  const packages = Object.keys(lock.npm).map(nameAndVersion);
  const sizes = await Promise.all(
    packages.map(([name, version]) => bytesBelow(`${cache}/${name}/${version}`)),
  );
  assert(packages.some(([name]) => name === "hono"));
  assert(sizes.every((size) => size > 0));
  assertLess(sizes.reduce((sum, size) => sum + size, 0), MOST, "move what only tests need to tests/clients");
});

Deno.test("the keys of a lock are read with and without scope and peers", () => {
  assertEquals(nameAndVersion("zod@4.6.7"), ["zod", "4.6.7"]);
  assertEquals(nameAndVersion("@a/b@1.2.3_@c+d@4.5.6_e@7.8.9"), ["@a/b", "1.2.3"]);
});
