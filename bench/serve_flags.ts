/** `run` and the runtime's flags, as `deno task serve` has them: what is measured is what is served. */
export async function serveFlags(): Promise<string[]> {
  const config = await Deno.readTextFile(new URL("../deno.json", import.meta.url));
  const { tasks }: { tasks: { serve: { command: string } } } = JSON.parse(config);
  // "deno run … main.ts"
  return tasks.serve.command.split(" ").slice(1, -1);
}
