import { parseArgs } from "node:util";
import { brokenBounds, type Figures, FILE_NAMES, filesOf, MIN_ITL_COUNT } from "./measure/figures.ts";
import { startServer } from "./measure/local_server.ts";
import { cancelOneStream, timeOneStream } from "./measure/probe.ts";
import { progressLine } from "./progress.ts";

const HELP = `Measures a token stream and its cancellation, and writes the figures.

Usage: deno task measure [--url URL] [--out DIR] [--prompt P] [--max-tokens N] [--json]

  --url URL        the server to measure, a Tokentap's address without /v1; without it one is started on a free port
                   and stopped after
  --out DIR        where the files go (default: metrics)
  --prompt P       the prompt (default: hello)
  --max-tokens N   tokens of the timed stream, at least ${MIN_ITL_COUNT + 1} (default: 100)
  --json           print the figures as JSON

Files: ${FILE_NAMES.join(" ")}. Exit code 1 when a bound fails, 2 for bad usage.
A stream of one token comes first, to warm up. The request's time is that of its write to an open connection; an arrival's, that of its read, before parsing.
`;

class UsageError extends Error {}

interface Options {
  url?: string;
  out: string;
  prompt: string;
  maxTokens: number;
  json: boolean;
}

/** @throws {UsageError} */
function parseOptions(args: string[]): Options | "help" {
  let values;
  try {
    ({ values } = parseArgs({
      args,
      options: {
        url: { type: "string" },
        out: { type: "string", default: "metrics" },
        prompt: { type: "string", default: "hello" },
        "max-tokens": { type: "string", default: "100" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    }));
  } catch (error) {
    throw new UsageError((error as Error).message.split("\n")[0]);
  }
  if (values.help) return "help";
  const { url, out, prompt, json, "max-tokens": given } = values;
  const maxTokens = /^\d+$/.test(given) ? Number(given) : NaN;
  if (!(maxTokens > MIN_ITL_COUNT)) {
    throw new UsageError(
      `--max-tokens: expected a whole number of at least ${MIN_ITL_COUNT + 1}, got ${given}`,
    );
  }
  if (prompt === "") throw new UsageError("--prompt: expected some text, got none");
  if (url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw new UsageError(`--url: expected an http or https URL, got ${url}`);
  }
  return { url, out, prompt, maxTokens, json };
}

async function measure({ url, prompt, maxTokens }: Options & { url: string }): Promise<Figures> {
  const progress = progressLine();
  try {
    progress("generating in two processes");
    const generated = await Promise.all([printTokens(prompt, maxTokens), printTokens(prompt, maxTokens)]);
    // The first stream of a process also pays for compiling the code on its way, here and in the server.
    await timeOneStream({ url, prompt, maxTokens: 1 });
    const onToken = (count: number) => progress(`token ${count} of ${maxTokens}`);
    const timed = await timeOneStream({ url, prompt, maxTokens, onToken });
    progress("disconnecting in the middle of a stream");
    const cancel = await cancelOneStream({ url, prompt, maxTokens });
    return { generated, cancel, ...timed };
  } finally {
    progress(undefined);
  }
}

async function printTokens(prompt: string, n: number): Promise<string> {
  const script = new URL("./measure/print_tokens.ts", import.meta.url).href;
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", script, prompt, String(n)],
    stdin: "null",
  }).output();
  if (!success) {
    throw new Error(`the generator failed: ${new TextDecoder().decode(stderr).trim().split("\n")[0]}`);
  }
  return new TextDecoder().decode(stdout);
}

function show(figures: Figures, out: string) {
  const files = filesOf(figures);
  const generated = `${figures.generated[0].trimEnd().split("\n").length} tokens`;
  for (const name of FILE_NAMES) {
    const figure = name.startsWith("gen") ? generated : files[name].trimEnd().replaceAll("\n", " ");
    console.log(`${figure.padEnd(72)} ${out}/${name}`);
  }
  // A p99 passes over the one gap in a hundred that a reader has noticed.
  console.log(`itl_max_ms=${figures.itl.max.toFixed(1)}`);
}

async function run(options: Options): Promise<number> {
  const { out, json } = options;
  await Deno.mkdir(out, { recursive: true });
  // A run that fails midway must not leave the files of an earlier one to be taken for its own.
  for (const name of FILE_NAMES) await Deno.remove(`${out}/${name}`).catch(ignoreMissing);

  await using server = options.url === undefined ? await startServer() : undefined;
  const stopServer = async () => {
    await server?.[Symbol.asyncDispose]();
    Deno.exit(1);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stopServer);
  try {
    const figures = await measure({ ...options, url: options.url ?? server!.url });
    for (const [name, content] of Object.entries(filesOf(figures))) {
      await Deno.writeTextFile(`${out}/${name}`, content);
    }
    const broken = brokenBounds(figures);
    if (json) {
      const { generated, ...rest } = figures;
      console.log(JSON.stringify({ ...rest, generatedIdentical: generated[0] === generated[1], broken }));
    } else show(figures, out);
    if (broken.length > 0) console.error(`measure: ${broken.join("; ")}`);
    return broken.length > 0 ? 1 : 0;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, stopServer);
  }
}

function ignoreMissing(error: unknown) {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

if (import.meta.main) {
  try {
    const options = parseOptions(Deno.args);
    if (options === "help") console.log(HELP.trimEnd());
    else Deno.exitCode = await run(options);
  } catch (error) {
    console.error(`measure: ${error instanceof Error ? error.message : error}`);
    Deno.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
