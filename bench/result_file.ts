import { UsageError } from "./options.ts";

/**
 * Makes the folder of a file that will hold results. Called before the work, which may take minutes.
 *
 * @param option the option that named it, for the message
 * @throws {UsageError} when `path` is a folder
 */
export async function prepareFile(option: string, path: string): Promise<void> {
  await Deno.mkdir(path.replace(/[^/]*$/, "") || ".", { recursive: true });
  const there = await Deno.stat(path).catch(() => undefined);
  if (there?.isDirectory) throw new UsageError(`${option}: wanted a file, got the folder "${path}"`);
}

/** Writes results for machines. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  await Deno.writeTextFile(path, JSON.stringify(value, null, 2) + "\n");
}
