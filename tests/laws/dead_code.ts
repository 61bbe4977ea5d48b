import { blank } from "./blank.ts";
import { exportsOf, type Import, importsOf, resolve } from "./scan.ts";
import { isTest, type Source } from "./source.ts";

/** Files that nothing imports and that are run all the same, each with its reason. */
const ENTRIES: Record<string, string> = {};

/**
 * Every file is reached from a task, a test or a benchmark, by imports or by its relative path in a string.
 *
 * @param tasks the text of deno.json, whose tasks name the entry points
 */
export function reachable(sources: Source[], tasks: string, entries = ENTRIES): string[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const isEntry = (path: string) =>
    path === "main.ts" || /_(test|bench)\.ts$/.test(path) || tasks.includes(path) || path in entries;
  const reached = new Set<string>();
  const open = sources.map(({ path }) => path).filter(isEntry);
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const source = byPath.get(path);
    if (!source || reached.has(path)) continue;
    reached.add(path);
    for (const { specifier } of importsOf(source.text)) {
      const target = resolve(path, specifier);
      if (target) open.push(target);
    }
  }
  return [
    ...sources.filter(({ path }) => !reached.has(path) && !isLinked(path)).map(({ path }) =>
      `${path}: is reached from no task, test or benchmark`
    ),
    ...Object.keys(entries).filter((path) => !byPath.has(path)).map((path) =>
      `${path}: is listed as an entry point and is not there`
    ),
  ];
}

/**
 * Every export of lib, routes and bench is imported by another file. One that only tests import must be used in its
 * own file: code that only its test calls is dead. A type may be exported for the signature that it stands in.
 */
export function usedExports(sources: Source[]): string[] {
  const imports = sources.flatMap(({ path, text }) =>
    importsOf(text).map((each) => ({ ...each, from: path, target: resolve(path, each.specifier) }))
  );
  return sources.filter(({ path }) => !isTest(path)).flatMap(({ path, text }) => {
    const takers = imports.filter(({ target, from }) => target === path && from !== path);
    const code = blank(text);
    return exportsOf(text).flatMap(({ name, type }) => {
      const taken = takers.filter((taker) => takes(taker, name));
      if (taken.some(({ from }) => !isTest(from))) return [];
      const usedHere = usesOf(code, name) > 1;
      if (usedHere && (type || taken.length > 0)) return [];
      if (taken.length > 0) return [`${path}: exports ${name}, which only tests use`];
      return [`${path}: exports ${name}, which no other file imports`];
    });
  });
}

function takes({ names, kind }: Import, name: string): boolean {
  return kind !== "path" && (names.includes(name) || names.includes("*"));
}

function usesOf(code: string, name: string): number {
  const escaped = name.replaceAll("$", "\\$");
  return [...code.matchAll(new RegExp(`(?<![\\w$])${escaped}(?![\\w$])`, "g"))].length;
}

/** The local `@std/assert` is imported by its package name. */
function isLinked(path: string): boolean {
  return path.startsWith("tests/std_assert/");
}
