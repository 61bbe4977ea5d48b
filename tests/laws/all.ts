import { settingRows } from "../../lib/config.ts";
import { reachable, usedExports } from "./dead_code.ts";
import { direction } from "./direction.ts";
import { plain } from "./plain.ts";
import { settings } from "./settings.ts";
import { barrels, length } from "./shape.ts";
import { readSources } from "./source.ts";
import { type Config, versions } from "./versions.ts";

const PROJECTS = [
  "deno.json",
  "tests/tsc/deno.json",
  "tests/clients/deno.json",
  "tests/properties/deno.json",
  "bench/charts/deno.json",
];

/** What each law has against the project at `root`: nothing, if all is well. */
export function judge(root: URL): Record<string, string[]> {
  const sources = readSources(root);
  const read = (path: string) => Deno.readTextFileSync(new URL(path, root));
  return {
    "imports point down": direction(sources),
    "lib and routes are web standard": plain(sources),
    "files are short": length(sources),
    "no file only hands on exports": barrels(sources),
    "every file is reached": reachable(sources, read("deno.json")),
    "every export is used": usedExports(sources),
    "the README's table is the schema of the settings": settings(readme(root), settingRows()),
    "packages are pinned alike": versions(
      Object.fromEntries(PROJECTS.map((path): [string, Config] => [path, JSON.parse(read(path))])),
    ),
  };
}

/** Empty when there is none: the law then lists every row. */
function readme(root: URL): string {
  try {
    return Deno.readTextFileSync(new URL("README.md", root));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
