import { z } from "zod";
import { MAX_MODEL_LEN } from "../lib/config.ts";
import { runChild } from "./child.ts";
import { startServer } from "./local_server.ts";
import {
  brokenBounds,
  type Figures,
  FILE_NAMES,
  filesOf,
  longestGap,
  MIN_ITL_COUNT,
} from "./measure/figures.ts";
import { cancelOneStream, timeOneStream } from "./measure/probe.ts";
import { command, FLAG, readOptions, whole } from "./options.ts";
import { progressLine } from "./progress.ts";
import { prepareFolder, writeAll } from "./results.ts";

const HELP = `Measures a token stream and its cancellation, and writes the figures.

Usage: deno task measure [--url URL] [--out DIR] [--prompt P] [--max-tokens N] [--json]

  --url URL        the server to measure, a Tokentap's address without /v1; without it one is started on a free port
                   and stopped after
  --out DIR        where the files go (default: metrics)
  --prompt P       the prompt (default: hello)
  --max-tokens N   tokens of the timed stream, at least ${MIN_ITL_COUNT + 1} (default: 100)
  --json           print the figures as JSON

Files: ${FILE_NAMES.join(" ")}; gen1 and gen2 are the tokens of the generator itself, made in two
processes of this machine. Those of an earlier run stay until there are new ones. Exit code 1 when a bound fails, 2 for bad usage.
A stream of one token comes first, to warm up. The request's time is that of its write to an open connection; an arrival's, that of its read, before parsing.
`;

const Options = z.object({
  url: z.string().refine(
    (text) => /^https?:\/\/[^?#]+$/.test(text) && URL.canParse(text),
    "an http or https URL without a query",
  ).optional(),
  out: z.string().min(1, "a folder").default("metrics"),
  prompt: z.string().min(1, "some text").default("hello"),
  "max-tokens": whole(MIN_ITL_COUNT + 1, MAX_MODEL_LEN).default(100),
  json: FLAG,
});

type Options = z.output<typeof Options>;

async function measure(
  { url, prompt, "max-tokens": maxTokens }: Options & { url: string },
): Promise<Figures> {
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
  const { success, stdout, stderr } = await runChild(Deno.execPath(), {
    args: ["run", script, prompt, String(n)],
  });
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
  console.log(longestGap(figures));
}

async function run(options: Options): Promise<number> {
  const { out, json } = options;
  await prepareFolder("--out", out, FILE_NAMES);
  const flags = ["--max-model-len", `${MAX_MODEL_LEN}`];
  await using server = options.url === undefined ? await startServer(flags) : undefined;
  const figures = await measure({ ...options, url: options.url ?? server!.url });
  const files = Object.entries(filesOf(figures));
  await writeAll(Object.fromEntries(files.map(([name, content]) => [`${out}/${name}`, content])));
  const broken = brokenBounds(figures);
  if (json) {
    const { generated, ...rest } = figures;
    console.log(JSON.stringify({ ...rest, generatedIdentical: generated[0] === generated[1], broken }));
  } else show(figures, out);
  if (broken.length > 0) console.error(`measure: ${broken.join("; ")}`);
  return broken.length > 0 ? 1 : 0;
}

if (import.meta.main) {
  await command({ name: "measure", help: HELP, parse: (args) => readOptions(Options, args), work: run });
}
