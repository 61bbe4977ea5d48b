import { ConfigError, MOST_MODEL_LEN, type SettingKey as Key, settingRows, Settings } from "./config.ts";
import { quote } from "./errors.ts";

/**
 * What Kubernetes sets in every container for a Service called `tokentap`: TOKENTAP_PORT, which is a setting too, and
 * the rest of its "service links".
 */
const SERVICE_LINK = /^(tcp|udp|sctp):\/\//;
const SERVICE_LINK_NAMES = /^TOKENTAP_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$/;

/**
 * Settings from flags (`--port 1`, `--port=1`; a bare `--ignore-disconnects` means true), then environment, then
 * defaults. Throws `ConfigError` for an unknown flag and for any value out of its bounds.
 */
export function readSettings(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Settings {
  const rows = settingRows();
  const given: Partial<Record<Key, string>> = {};
  const origin: Partial<Record<Key, string>> = {};
  for (const row of rows) {
    const value = env[row.env];
    if (value !== undefined && value !== "" && !(row.key === "port" && SERVICE_LINK.test(value))) {
      given[row.key] = value;
      origin[row.key] = row.env;
    }
  }
  for (let i = 0; i < args.length; i++) {
    const [name, inline] = split(args[i]);
    const row = rows.find((row) => row.flag === name);
    if (row === undefined) {
      throw new ConfigError(`Unknown option ${quote(args[i])}; see --help for all of them.`);
    }
    const next = args[i + 1];
    if (inline === undefined && row.kind === "BOOL" && next !== "true" && next !== "false") {
      given[row.key] = "true";
    } else {
      const value = inline ?? args[++i];
      if (value === undefined) throw new ConfigError(`${row.flag}: wanted ${row.kind}, got nothing.`);
      given[row.key] = value;
    }
    origin[row.key] = row.flag;
  }
  // Each slot of the embedded model holds a context in memory: 256 of them would take most machines down.
  if (given.engine === "llama") given.maxNumSeqs ??= "4";
  // An upstream server knows how much its model takes; a limit of ours would cut it short.
  if (given.engine === "upstream") given.maxModelLen ??= String(MOST_MODEL_LEN);
  const parsed = Settings.safeParse(given);
  if (parsed.success) {
    const { engine, upstreamUrl } = parsed.data;
    if (upstreamUrl !== "" && engine !== "upstream") {
      throw new ConfigError(
        `${origin.upstreamUrl}: wanted --engine upstream with it, got the engine ${engine}.`,
      );
    }
    if (engine === "llama" && given.model === undefined) {
      throw new ConfigError("--model: wanted a GGUF file with --engine llama, got nothing.");
    }
    return parsed.data;
  }
  const issue = parsed.error.issues[0];
  const key = issue.path[0] as Key;
  throw new ConfigError(`${origin[key]}: wanted ${issue.message}, got ${quote(given[key])}.`);
}

/** Variables that look like settings and are none: mostly a name that was misspelt. */
export function strangeVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set(settingRows().map((row) => row.env));
  return Object.keys(env).filter((name) =>
    name.startsWith("TOKENTAP_") && !known.has(name) && !SERVICE_LINK_NAMES.test(name)
  );
}

function split(argument: string): [string, string | undefined] {
  const at = argument.indexOf("=");
  return at < 0 ? [argument, undefined] : [argument.slice(0, at), argument.slice(at + 1)];
}

/** The text of `--help`. */
export function settingsHelp(): string {
  const rows = settingRows();
  const left = rows.map((row) => `  ${row.flag} ${row.kind}`);
  const width = Math.max(...left.map((text) => text.length));
  return [
    "Tokentap: a token streaming server for language models.",
    "",
    "  deno task serve [options]",
    "",
    ...rows.map((row, i) => `${left[i].padEnd(width)}  ${row.about} (${row.default})`),
    `${"  --version".padEnd(width)}  print the version`,
    `${"  --help".padEnd(width)}  this text`,
    "",
    "A TIME is like 20ms or 1.5s; a bare number is milliseconds.",
    "Each option is also an environment variable: --port is TOKENTAP_PORT. An option wins over the environment.",
  ].join("\n");
}
