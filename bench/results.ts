import { UsageError } from "./options.ts";

/**
 * Makes the folder that will hold results, and tries to write there. Called before the work, which may take minutes.
 *
 * @param option the option that named it, for the message
 * @param names of the files that will be written there
 * @throws {UsageError} when nothing can be written there, or a folder has the name of a file
 */
export async function prepareFolder(option: string, folder: string, names: readonly string[]): Promise<void> {
  try {
    await Deno.mkdir(folder, { recursive: true });
    await Deno.remove(await Deno.makeTempFile({ dir: folder, prefix: ".tokentap-" }));
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/:.*/s, "") : error;
    throw new UsageError(`${option}: wanted a folder to write to, got "${folder}" (${why})`);
  }
  for (const name of names) await refuseFolder(option, `${folder}/${name}`);
}

/** As `prepareFolder`, for one file of results. */
export async function prepareFile(option: string, path: string): Promise<void> {
  await refuseFolder(option, path);
  if (await replaceable(path)) await prepareFolder(option, path.replace(/[^/]*$/, "") || ".", []);
}

async function refuseFolder(option: string, path: string): Promise<void> {
  const there = await Deno.stat(path).catch(() => undefined);
  if (there?.isDirectory) throw new UsageError(`${option}: wanted a file, got the folder "${path}"`);
}

/** A link or a device, as /dev/stdout is one, stays what it is and is written to. */
async function replaceable(path: string): Promise<boolean> {
  const there = await Deno.lstat(path).catch(() => undefined);
  return there === undefined || there.isFile;
}

/** Writes results for machines. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  await writeAll({ [path]: JSON.stringify(value, null, 2) + "\n" });
}

/**
 * Writes texts by their paths, all of them before the first takes the place of an older one: a run that breaks off
 * leaves what was there, and no two runs mixed.
 */
export async function writeAll(texts: Record<string, string>): Promise<void> {
  const aside = new Map<string, string>();
  try {
    for (const [path, text] of Object.entries(texts)) {
      if (await replaceable(path)) aside.set(path, `${path}.new`);
      await Deno.writeTextFile(aside.get(path) ?? path, text);
    }
  } catch (error) {
    for (const written of aside.values()) await Deno.remove(written).catch(() => {});
    throw error;
  }
  for (const [path, written] of aside) await Deno.rename(written, path);
}
