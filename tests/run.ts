/**
 * `deno task test [arguments of deno test]`: the tests of the root and those of the projects below `tests/`, each with
 * packages of its own that the service must not pull in. Arguments that name files choose the project they lie in;
 * without any, all run. The exit code is 1 as soon as one of them fails.
 */
const root = new URL("..", import.meta.url);
const apart = ["properties/", "clients/"].map((path) => new URL(path, import.meta.url));

if (import.meta.main) Deno.exit(await run(Deno.args));

async function run(args: string[]): Promise<number> {
  const paths = args.filter(isPath).map((path) => Deno.realPathSync(path));
  const flags = args.filter((arg) => !isPath(arg));
  const home = (path: string) => apart.find(({ pathname }) => `${path}/`.startsWith(pathname)) ?? root;
  let failed = false;
  for (const project of [root, ...apart]) {
    const here = paths.filter((path) => home(path) === project);
    if (paths.length > 0 && here.length === 0) continue;
    failed = !await passes(project, [...flags, ...here]) || failed;
  }
  return failed ? 1 : 0;
}

async function passes(cwd: URL, args: string[]): Promise<boolean> {
  // The running executable, since there may be no `deno` on the PATH (npx).
  const { success } = await new Deno.Command(Deno.execPath(), { args: ["test", "-A", ...args], cwd }).spawn()
    .status;
  return success;
}

/** Not a flag, nor the value of one: it exists. */
function isPath(arg: string): boolean {
  if (arg.startsWith("-")) return false;
  try {
    Deno.statSync(arg);
    return true;
  } catch {
    return false;
  }
}
