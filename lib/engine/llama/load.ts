import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { ConfigError } from "../../config.ts";
import { LlamaEngine, type LlamaOptions } from "../llama.ts";
import { awake } from "./awake.ts";
import type { LlamaBinding, LlamaModel } from "./binding.ts";
import { type GgufStrings, NotGguf, readGguf } from "./gguf.ts";

/** The engine cannot start as it was asked to. The message is one line for the user: what was wanted, what came. */
export class LlamaLoadError extends ConfigError {
  override name = "LlamaLoadError";
}

/**
 * The package that holds llama.cpp, by operating system and processor. Each is pinned by a config and a lock of its own
 * in `pins/`: in the project's lock it would be fetched by everyone, and one lock for all systems fetches all of them.
 */
const PACKAGES: Readonly<Record<string, string>> = {
  "darwin-aarch64": "mac-arm64-metal",
  "darwin-x86_64": "mac-x64",
  "linux-aarch64": "linux-arm64",
  "linux-x86_64": "linux-x64",
  "windows-x86_64": "win-x64",
};
const PINS = new URL("pins/", import.meta.url);
/** llama.cpp's levels up to this one are logged: errors and worse. */
const ERRORS_ONLY = 2;
/** Metadata hold the vocabulary: some megabytes. Beyond this the file is not what it says. */
const MAX_METADATA_BYTES = 2 ** 28;

export interface LoadOptions extends LlamaOptions {
  /** Path of the GGUF file. */
  model: string;
  /** Whether a package that is not installed may be fetched. Default true. */
  fetch?: boolean;
  /** Folder with the pins, which gets the package; replaced in tests. */
  pins?: URL;
}

/**
 * Loads llama.cpp and the model. Needs the permissions to read the file and to load native code, and, where the package
 * is not yet installed, the one to run Deno.
 * Throws `LlamaLoadError` when the file is not a model, or when the package cannot be had.
 */
export async function loadLlama(
  { model: path, fetch = true, pins = PINS, ...options }: LoadOptions,
): Promise<LlamaEngine> {
  // The file first: it is the likelier mistake, and costs no download.
  const strings = await metadataOf(path);
  const directory = await binaryDirectory(pins, fetch);
  const { binding, errors } = await loadBinding(directory);
  const model = await loadModel(binding, path, errors);
  const chatTemplate = options.chatTemplate ?? strings.get("tokenizer.chat_template");
  try {
    return await LlamaEngine.create(binding, model, {
      ...options,
      ...(chatTemplate === undefined ? {} : { chatTemplate }),
    });
  } catch (error) {
    await awake(model.dispose());
    throw new LlamaLoadError(`--engine llama: ${oneLine(error)}`, { cause: error });
  }
}

async function metadataOf(path: string): Promise<GgufStrings> {
  const wanted = "--model: wanted a GGUF file";
  try {
    using file = await Deno.open(path);
    const { size } = await file.stat();
    let bytes = new Uint8Array(0);
    while (bytes.length < Math.min(size, MAX_METADATA_BYTES)) {
      bytes = await grown(file, bytes, Math.min(size, Math.max(2 ** 20, bytes.length * 2)));
      const strings = readGguf(bytes);
      if (strings) return strings;
    }
    throw new LlamaLoadError(`${wanted}, but "${path}" ends within its metadata (${size} bytes)`);
  } catch (error) {
    if (error instanceof LlamaLoadError) throw error;
    if (error instanceof NotGguf) {
      throw new LlamaLoadError(`${wanted}, but of "${path}" ${error.message}`, { cause: error });
    }
    if (error instanceof Deno.errors.NotFound) {
      throw new LlamaLoadError(`${wanted}, found no file "${path}"`, { cause: error });
    }
    throw new LlamaLoadError(`${wanted}, could not read "${path}": ${oneLine(error)}`, { cause: error });
  }
}

async function grown(file: Deno.FsFile, start: Uint8Array, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  bytes.set(start);
  let filled = start.length;
  while (filled < length) {
    const count = await file.read(bytes.subarray(filled));
    if (count === null) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

interface Loaded {
  binding: LlamaBinding;
  /** The error lines llama.cpp has logged since they were last taken. */
  errors: { take(): Promise<string[]> };
}

/** Once for a process: llama.cpp's libraries cannot be unloaded. */
let loaded: Promise<Loaded> | undefined;

async function loadBinding(directory: string): Promise<Loaded> {
  loaded ??= start(directory);
  try {
    return await loaded;
  } catch (error) {
    loaded = undefined;
    throw new LlamaLoadError(
      `--engine llama: could not load ${directory}/llama-addon.node: ${oneLine(error)}`,
      { cause: error },
    );
  }
}

/** The folder with the binary of this system; installs its package where that is missing or of another version. */
async function binaryDirectory(pins: URL, fetch: boolean): Promise<string> {
  const platform = `${Deno.build.os}-${Deno.build.arch}`;
  const name = PACKAGES[platform];
  if (name === undefined) {
    const known = Object.keys(PACKAGES).join(", ");
    throw new LlamaLoadError(
      `--engine llama: there is no llama.cpp package for ${platform}; there is one for ${known}`,
    );
  }
  const specifier = `@node-llama-cpp/${name}`;
  const config = new URL(`${name}.json`, pins);
  const { imports } = JSON.parse(await Deno.readTextFile(config)) as { imports: Record<string, string> };
  const folder = new URL(`node_modules/${specifier}/`, pins);
  if (imports[specifier] !== `npm:${specifier}@${await versionIn(folder)}`) {
    await install(specifier, config, fetch);
  }
  return fileURLToPath(new URL(`bins/${name}`, folder));
}

async function versionIn(folder: URL): Promise<string | undefined> {
  try {
    return (JSON.parse(await Deno.readTextFile(new URL("package.json", folder))) as { version: string })
      .version;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Deno fetches the package and checks it against the lock beside `config`. */
async function install(specifier: string, config: URL, fetch: boolean): Promise<void> {
  const args = ["install", "--quiet", "--frozen", "--config", fileURLToPath(config)];
  const command = Deno.execPath();
  if (!fetch || (await Deno.permissions.request({ name: "run", command })).state !== "granted") {
    throw new LlamaLoadError(
      `--engine llama: the package ${specifier} is not installed; run once: deno ${args.join(" ")}`,
    );
  }
  console.error(`Fetching ${specifier} for --engine llama, once`);
  const { success, stderr } = await new Deno.Command(command, { args, env: { NO_COLOR: "1" }, stdin: "null" })
    .output();
  if (success) return;
  const said = new TextDecoder().decode(stderr).replace(/\n\s*Stack backtrace[\s\S]*/, "").replace(
    /^[\s\S]*?error: /,
    "",
  );
  throw new LlamaLoadError(`--engine llama: could not get the package ${specifier}: ${oneLine(said)}`);
}

async function start(directory: string): Promise<Loaded> {
  const { state } = await Deno.permissions.request({ name: "ffi", path: directory });
  if (state !== "granted") throw new Error("it is native code, which needs --allow-ffi");
  const binding = createRequire(import.meta.url)(`${directory}/llama-addon.node`) as LlamaBinding;
  let lines: string[] = [];
  binding.setLogger((_level, text) => lines.push(text.trim()));
  binding.setLoggerLogLevel(ERRORS_ONLY);
  binding.loadBackends();
  // Undefined until a library that computes is there: on some systems it is built in, on others a file of its own.
  if (binding.getGpuType() === undefined) binding.loadBackends(directory);
  await awake(binding.init());
  const take = async () => {
    // Log lines come from other threads, a turn of the event loop later.
    await new Promise((turn) => setTimeout(turn, 0));
    const taken = lines;
    lines = [];
    return taken;
  };
  return { binding, errors: { take } };
}

async function loadModel(binding: LlamaBinding, path: string, errors: Loaded["errors"]): Promise<LlamaModel> {
  await errors.take();
  const model = new binding.AddonModel(path, { addonExports: binding, gpuLayers: 0 });
  if (await awake(model.init())) return model;
  await awake(model.dispose());
  const [reason = "no reason given"] = await errors.take();
  throw new LlamaLoadError(`--model: llama.cpp could not load "${path}": ${reason}`);
}

function oneLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "").join(" ");
}
