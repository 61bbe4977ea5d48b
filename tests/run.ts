/**
 * `deno task test [arguments of deno test]`: the tests of the root and those of `tests/clients/`, a project of its own
 * with packages that the service must not pull in. Arguments that name files choose the project they lie in; without
 * any, both run. The exit code is 1 as soon as one of them fails.
 */
const root = new URL("..", import.meta.url);
const clients = new URL("clients/", import.meta.url);

if (import.meta.main) Deno.exit(await run(Deno.args));

async function run(args: string[]): Promise<number> {
  const paths = args.filter(isPath).map((path) => Deno.realPathSync(path));
  const flags = args.filter((arg) => !isPath(arg));
  const inClients = paths.filter((path) => `${path}/`.startsWith(clients.pathname));
  const inRoot = paths.filter((path) => !inClients.includes(path));
  const all = paths.length === 0;
  let failed = false;
  if (all || inRoot.length > 0) failed = !await passes(root, [...flags, ...inRoot]) || failed;
  if (all || inClients.length > 0) failed = !await passes(clients, [...flags, ...inClients]) || failed;
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
