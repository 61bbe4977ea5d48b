import { blank } from "./blank.ts";
import { importsOf } from "./scan.ts";
import type { Source } from "./source.ts";

/** Where the app object comes from, which runs on other runtimes too. */
const PLAIN = ["lib/", "routes/"];

/** Files that may know their runtime, each with its reason. `tests/tsc/tsconfig.json` leaves out the same ones of lib. */
export const EXCEPTIONS: Record<string, string> = {
  "lib/engine/upstream/dial.ts": "opens the sockets to the upstream; nothing in lib imports it",
  "lib/engine/llama/load.ts": "reads the model file and loads the native binding; nothing in lib imports it",
};

const GLOBALS = /(?<![\w$.])(Deno|process|Buffer|Bun|require)(?![\w$]|\s*[:?])/;

/** `lib/` and `routes/` are web standard: no `Deno`, no `node:`; and `lib/` knows no hono. */
export function plain(sources: Source[], exceptions: Record<string, string> = EXCEPTIONS): string[] {
  const judged = sources.filter(({ path }) => PLAIN.some((room) => path.startsWith(room)));
  const wrong = judged.map((source) => ({ path: source.path, faults: faultsOf(source) }))
    .filter(({ faults }) => faults.length > 0);
  const idle = Object.keys(exceptions).filter((path) => !wrong.some((each) => each.path === path));
  return [
    ...wrong.filter(({ path }) => !(path in exceptions)).flatMap(({ faults }) => faults),
    ...idle.map((path) => `${path}: is excepted from the law of plain files and does not need it`),
  ];
}

function faultsOf({ path, text }: Source): string[] {
  const faults = importsOf(text)
    .filter(({ specifier }) =>
      specifier.startsWith("node:") || (path.startsWith("lib/") && isHono(specifier))
    )
    .map(({ specifier }) => `${path}: imports "${specifier}"; wanted web standard only`);
  blank(text).split("\n").forEach((line, at) => {
    const name = GLOBALS.exec(line)?.[1];
    if (name) faults.push(`${path}:${at + 1}: uses ${name}; wanted web standard only`);
  });
  return faults;
}

function isHono(specifier: string): boolean {
  return /^hono($|\/|-)/.test(specifier);
}
