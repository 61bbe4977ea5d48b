/** A source file of the project: its path from the root, with `/`, and its text. */
export interface Source {
  path: string;
  text: string;
}

/** What the laws look at: the fixed top level. */
const ROOMS = ["main.ts", "lib", "routes", "bench", "tests"];

/** `tests/clients/` is a project of its own; packages are not ours. */
const OUTSIDE = /^tests\/clients$|\/(node_modules|\.[^/]*)$/;

/** All TypeScript files below `root`, sorted by path. */
export function readSources(root: URL): Source[] {
  const found: Source[] = [];
  for (const room of ROOMS) visit(root, room, found);
  return found.sort((a, b) => a.path < b.path ? -1 : 1);
}

function visit(root: URL, path: string, found: Source[]): void {
  const url = new URL(path, root);
  let info: Deno.FileInfo;
  try {
    info = Deno.statSync(url);
  } catch {
    return; // A room that is not built yet.
  }
  if (info.isFile && /\.tsx?$/.test(path)) found.push({ path, text: Deno.readTextFileSync(url) });
  if (!info.isDirectory || OUTSIDE.test(path)) return;
  for (const entry of Deno.readDirSync(url)) visit(root, `${path}/${entry.name}`, found);
}

/** A test, or what only tests use. */
export function isTest(path: string): boolean {
  return path.startsWith("tests/");
}
