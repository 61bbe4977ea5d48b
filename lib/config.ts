import { z } from "zod";

/** A value that cannot be used, or a flag that does not exist: one line, exit code 2. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

/** Milliseconds of each unit that a time may have. */
const UNITS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const TIME = new RegExp(`^(\\d+(?:\\.\\d+)?)(${Object.keys(UNITS).join("|")})?$`);
const MAX_HOURS = 24;

/** What a time looks like, for `--help` and for complaints. */
export const TIME_FORM = `like 20ms or 1.5s (${Object.keys(UNITS).join(", ")})`;

/** `20ms`, `1.5s`, `0`, or a bare number of milliseconds; the value is milliseconds, with fractions. */
function duration(defaultMs: number, about: string, least = 0) {
  return z.union([z.string(), z.number()]).transform((text, context) => {
    const match = TIME.exec(String(text).trim());
    const ms = match ? Number(match[1]) * UNITS[match[2] ?? "ms"] : NaN;
    if (ms >= least && ms <= MAX_HOURS * UNITS.h) return ms;
    const from = least > 0 ? `${least}ms` : "0";
    context.addIssue({ code: "custom", message: `a time ${TIME_FORM} from ${from} to ${MAX_HOURS}h` });
    return z.NEVER;
  }).default(defaultMs).meta({ about, shown: written(defaultMs), kind: "TIME" });
}

function written(ms: number): string {
  return ms >= 1000 && ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}

function number(form: RegExp, name: string, kind: string) {
  return (min: number, max: number, fallback: number, about: string) =>
    z.union([z.string(), z.number()]).transform((text, context) => {
      const value = form.test(String(text).trim()) ? Number(text) : NaN;
      if (value >= min && value <= max) return value;
      context.addIssue({ code: "custom", message: `${name} from ${min} to ${max}` });
      return z.NEVER;
    }).default(fallback).meta({ about, kind });
}

const whole = number(/^-?\d+$/, "a whole number", "N");
const decimal = number(/^\d+(\.\d+)?$/, "a number", "X");

function flag(fallback: boolean, about: string) {
  return z.union([
    z.boolean(),
    z.enum(["true", "false"]).transform((v) => v === "true"),
  ], { error: "true or false" })
    .default(fallback).meta({ about, kind: "BOOL" });
}

function choice<const T extends readonly [string, ...string[]]>(
  values: T,
  fallback: T[number],
  about: string,
) {
  return z.enum(values, { error: `one of ${values.join(", ")}` }).default(fallback as never)
    .meta({ about, kind: values.join("|") });
}

/** A line of text. Empty means none, where that is the default; elsewhere it is refused. */
function line(fallback: string, about: string, kind = "TEXT") {
  const least = fallback === "" ? 0 : 1;
  // deno-lint-ignore no-control-regex
  const form = /^[^\u0000-\u001f\u007f]{0,1024}$/;
  return z.string().min(least, "a text that is not empty").regex(form, "a line of at most 1024 characters")
    .default(fallback).meta({ about, kind, shown: fallback || "none" });
}

/** Tokens of prompt and answer that no limit goes beyond. */
export const MAX_MODEL_LEN = 10_000_000;

/** Settings whose default is another one with an engine. */
const ENGINE_DEFAULTS = {
  simulated: {},
  // An upstream server knows how much its model takes; a limit of ours would cut it short.
  upstream: { maxModelLen: MAX_MODEL_LEN },
  // Each slot of the embedded model holds a context in memory: 256 of them would take most machines down.
  llama: { maxNumSeqs: 4 },
};

/** Every setting: its default, its bounds and what it is for. The flag is the key in kebab-case. */
export const Settings = z.object({
  host: line("127.0.0.1", "address to listen on"),
  port: whole(0, 65_535, 8170, "port to listen on; 0 takes a free one"),
  model: line("tokentap", "model name shown to clients; for the llama engine the GGUF file", "NAME"),
  engine: choice(["simulated", "upstream", "llama"], "simulated", "what makes the tokens"),
  upstreamUrl: line(
    "",
    "OpenAI-compatible server to stand in front of, e.g. http://127.0.0.1:8000/v1",
    "URL",
  ),
  upstreamModel: line("", "model to ask it for; without it the one the client names", "NAME"),
  upstreamApiKeyFile: line("", "file with the key to send it", "FILE"),
  upstreamConnectTimeout: duration(5_000, "time to connect to it", 1),
  upstreamIdleTimeout: duration(
    60_000,
    "its longest silence, also before the first token; pings do not count",
    1,
  ),
  upstreamTotalTimeout: duration(1_800_000, "longest generation of it", 1),
  seed: whole(0, 0xffff_ffff, 0, "changes every token and delay of the simulated engine"),
  timeToFirstToken: duration(200, "prefill, before the first token"),
  timeToFirstTokenStdDev: duration(0, "its standard deviation (log-normal)"),
  prefillTimePerToken: duration(0, "prefill for each token of the prompt, added to the above"),
  interTokenLatency: duration(20, "between tokens"),
  interTokenLatencyStdDev: duration(0, "its standard deviation (log-normal)"),
  timeFactorUnderLoad: decimal(1, 1000, 1, "factor on the time between tokens when all slots are busy"),
  maxNumSeqs: whole(
    1,
    100_000,
    256,
    `slots: generations in prefill or decode at once; ${ENGINE_DEFAULTS.llama.maxNumSeqs} with the llama engine, ` +
      "where each costs memory",
  ),
  maxWaitingQueueLength: whole(0, 1_000_000, 1024, "generations that may wait for a slot; more get 429"),
  maxModelLen: whole(
    2,
    MAX_MODEL_LEN,
    8192,
    "most tokens of prompt and answer together; no limit of ours with the upstream engine",
  ),
  realtime: flag(true, "false: the same model, with nothing waited for"),
  ignoreDisconnects: flag(
    false,
    "true: go on generating when the client has left (the fault, for comparison)",
  ),
  keepAlive: duration(15_000, "silence on a stream that is filled with a comment", 1),
  stallLimit: duration(30_000, "how long one write to a reader may wait before its stream is cut", 1),
  bodyTimeout: duration(10_000, "time for a request's body to arrive", 1),
  maxBodyBytes: whole(1024, 1_073_741_824, 1_048_576, "largest request body in bytes"),
  shutdownGrace: duration(5_000, "after SIGTERM, how long running generations may go on"),
  logFormat: choice(["text", "json"], "text", "form of the log lines"),
});

export type Settings = z.infer<typeof Settings>;
export type SettingKey = keyof Settings;

/** The defaults that an engine has of its own; none where `engine` is not the name of one. */
export function engineDefaults(engine: string | undefined): z.input<typeof Settings> {
  const { data } = Settings.shape.engine.safeParse(engine);
  return data === undefined ? {} : ENGINE_DEFAULTS[data];
}

export interface SettingRow {
  key: SettingKey;
  flag: string;
  env: string;
  default: string;
  kind: string;
  about: string;
}

/** Every setting as a row, for `--help` and the README; with the defaults of `engine` where one is named. */
export function settingRows(engine?: string): SettingRow[] {
  const defaults = Settings.parse(engineDefaults(engine));
  return Object.entries(Settings.shape).map(([key, schema]) => {
    const meta = schema.meta() as { about: string; kind: string; shown?: string };
    const kebab = key.replace(/[A-Z]/g, (c) => "-" + c.toLowerCase());
    return {
      key: key as SettingKey,
      flag: "--" + kebab,
      env: "TOKENTAP_" + kebab.replaceAll("-", "_").toUpperCase(),
      default: meta.shown ?? String(defaults[key as SettingKey]),
      kind: meta.kind,
      about: meta.about,
    };
  });
}
