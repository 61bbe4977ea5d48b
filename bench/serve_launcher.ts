import type { Launcher } from "./process.ts";

const MAIN = new URL("../main.ts", import.meta.url);

/** `run` and the runtime's flags, as `deno task serve` has them. */
export async function serveFlags(): Promise<string[]> {
  const config = await Deno.readTextFile(new URL("../deno.json", import.meta.url));
  const { tasks }: { tasks: { serve: { command: string } } } = JSON.parse(config);
  // "deno run … main.ts"
  return tasks.serve.command.split(" ").slice(1, -1);
}

/**
 * How our own server is started: with the runtime's flags of `deno task serve`, so that what is measured is what is
 * served.
 *
 * @param settings of the server, as on its command line
 * @param entry another program in its place, for tests
 */
export async function serveLauncher(settings: readonly string[], entry = MAIN): Promise<Launcher> {
  const run = await serveFlags();
  return (port) => ({
    command: Deno.execPath(),
    args: [...run, entry.href, "--port", `${port}`, ...settings],
  });
}
