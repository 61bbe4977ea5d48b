import { importsOf, resolve } from "./scan.ts";
import type { Source } from "./source.ts";

/** A place in the house, and what its files may import. A path that ends in `/` stands for all below it. */
interface Room {
  at: string;
  files: string[];
  packages: string[];
}

/** The first room that a path lies in counts. Tests may import everything and have no row. */
const ROOMS: Room[] = [
  { at: "main.ts", files: ["deno.json", "lib/", "routes/"], packages: ["hono", "zod"] },
  { at: "routes/", files: ["lib/", "routes/"], packages: ["hono", "zod"] },
  { at: "bench/", files: ["lib/", "bench/"], packages: ["*"] },
  // Within lib: words first (errors, settings), then engines, then what streams them. The client stands apart.
  { at: "lib/http/", files: ["lib/*", "lib/http/"], packages: [] },
  { at: "lib/engine/", files: ["lib/*", "lib/http/", "lib/engine/"], packages: [] },
  { at: "lib/stream/", files: ["lib/*", "lib/http/", "lib/engine/", "lib/stream/"], packages: [] },
  { at: "lib/client/", files: ["lib/*", "lib/client/"], packages: [] },
  { at: "lib/*", files: ["lib/*"], packages: ["zod", "eventsource-parser"] },
];

/** Imports point down: main → routes → lib, bench → lib, and within lib as the table says. */
export function direction(sources: Source[]): string[] {
  const paths = new Set(sources.map(({ path }) => path));
  return sources.filter(({ path }) => !path.startsWith("tests/")).flatMap(({ path, text }) => {
    const room = ROOMS.find(({ at }) => lies(path, at));
    if (!room) return [`${path}: lies in no room; wanted one of ${ROOMS.map(({ at }) => at).join(" ")}`];
    return importsOf(text).filter(({ kind }) => kind !== "path").flatMap(({ specifier }) => {
      const target = resolve(path, specifier);
      if (target === undefined) {
        return packageAllowed(room, specifier)
          ? []
          : [`${path}: imports "${specifier}"; ${room.at} may import ${room.packages.join(", ")}`];
      }
      if (!room.files.some((at) => lies(target, at))) {
        return [`${path}: imports ${target}; ${room.at} may import ${room.files.join(", ")}`];
      }
      return paths.has(target) || !target.endsWith(".ts")
        ? []
        : [`${path}: imports ${target}, which is not there`];
    });
  });
}

function lies(path: string, at: string): boolean {
  if (at.endsWith("/")) return path.startsWith(at);
  if (at.endsWith("/*")) return path.startsWith(at.slice(0, -1)) && !path.slice(at.length - 1).includes("/");
  return path === at;
}

/** By its name in deno.json, where the version stands: never `npm:` or a URL in place. */
function packageAllowed(room: Room, specifier: string): boolean {
  // Whether a file may know its runtime is another law, see plain.ts.
  if (specifier.startsWith("node:")) return true;
  if (/^(npm|jsr|https?):/.test(specifier)) return false;
  return room.packages.some((name) => name === "*" || specifier === name || specifier.startsWith(`${name}/`));
}
