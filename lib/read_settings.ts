import {
  ConfigError,
  engineDefaults,
  type SettingKey as Key,
  settingRows,
  Settings,
  TIME_FORM,
} from "./config.ts";
import { quote } from "./errors.ts";

/**
 * What Kubernetes sets in every container for a Service called `tokentap`: TOKENTAP_PORT, which is a setting too, and
 * the rest of its "service links".
 */
const SERVICE_LINK = /^(tcp|udp|sctp):\/\//;
const SERVICE_LINK_NAMES = /^TOKENTAP_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$/;

type Env = Readonly<Record<string, string | undefined>>;

interface Given {
  values: Partial<Record<Key, string>>;
  /** The variable that gave the value, by the flag that could have given it. */
  variables: Map<string, string>;
}

/**
 * Settings from flags (`--port 1`, `--port=1`; a bare `--ignore-disconnects` means true), then environment, then
 * defaults. Throws `ConfigError` for an unknown flag and for any value out of its bounds.
 */
export function readSettings(args: readonly string[], env: Env): Settings {
  const { values, variables } = gather(args, env);
  try {
    return check(values);
  } catch (error) {
    throw named(error, variables);
  }
}

/**
 * The error with the name that the user knows. Whoever finds fault with a setting calls it by its flag; where a variable
 * gave the value, nobody has typed that flag. `args` and `env` are what `readSettings` has taken.
 */
export function atOrigin(error: unknown, args: readonly string[], env: Env): unknown {
  return named(error, gather(args, env).variables);
}

/** Renames only what is found fault with, in `--port:`, `--host and --port:` or `--engine llama:`. */
function named(error: unknown, variables: Given["variables"]): unknown {
  if (!(error instanceof ConfigError)) return error;
  const message = error.message.replace(
    /^--[^:"]*:/,
    (blamed) =>
      blamed.replace(/(--[a-z-]+)( (?!and ))?/g, (whole, flag, value) => {
        const variable = variables.get(flag);
        return variable === undefined ? whole : variable + (value ? "=" : "");
      }),
  );
  return new ConfigError(message, { cause: error });
}

function gather(args: readonly string[], env: Env): Given {
  const rows = settingRows();
  const values: Given["values"] = {};
  const variables: Given["variables"] = new Map();
  for (const row of rows) {
    const value = env[row.env];
    if (value !== undefined && value !== "" && !(row.key === "port" && SERVICE_LINK.test(value))) {
      values[row.key] = value;
      variables.set(row.flag, row.env);
    }
  }
  for (let i = 0; i < args.length; i++) {
    const [name, inline] = split(args[i]);
    const row = rows.find((row) => row.flag === name);
    if (row === undefined) {
      throw new ConfigError(`Unknown option ${quote(args[i])}; see --help for all of them.`);
    }
    variables.delete(row.flag);
    if (inline === undefined && row.kind === "BOOL" && (args[i + 1] ?? "-").startsWith("-")) {
      values[row.key] = "true";
      continue;
    }
    const value = inline ?? args[++i];
    if (value === undefined) throw new ConfigError(`${row.flag}: wanted ${row.kind}, got nothing.`);
    values[row.key] = value;
  }
  return { values, variables };
}

function check(values: Given["values"]): Settings {
  const parsed = Settings.safeParse({ ...engineDefaults(values.engine), ...values });
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const key = issue.path[0] as Key;
    const { flag } = settingRows().find((row) => row.key === key)!;
    throw new ConfigError(`${flag}: wanted ${issue.message}, got ${quote(values[key])}.`);
  }
  const { engine } = parsed.data;
  if (engine === "upstream") {
    if (values.upstreamUrl === undefined) {
      throw new ConfigError("--engine upstream: wanted --upstream-url with it, got nothing.");
    }
    return parsed.data;
  }
  // Tokens would come, but from another engine than the one that was meant. An empty text is as good as none.
  const idle = settingRows().find(({ key }) => key.startsWith("upstream") && values[key]);
  if (idle) {
    throw new ConfigError(`${idle.flag}: wanted --engine upstream with it, got the engine ${engine}.`);
  }
  if (engine === "llama" && values.model === undefined) {
    throw new ConfigError("--engine llama: wanted --model with it, a GGUF file, got nothing.");
  }
  return parsed.data;
}

/** Variables that look like settings and are none: mostly a name that was misspelt. */
export function strangeVariables(env: Env): string[] {
  const known = new Set(settingRows().map((row) => row.env));
  return Object.keys(env).filter((name) =>
    name.startsWith("TOKENTAP_") && !known.has(name) && !SERVICE_LINK_NAMES.test(name)
  );
}

function split(argument: string): [string, string | undefined] {
  const at = argument.indexOf("=");
  return at < 0 ? [argument, undefined] : [argument.slice(0, at), argument.slice(at + 1)];
}

/** The engine that `args` name, whatever else is in them: also who has made a mistake may ask for help. */
function engineIn(args: readonly string[]): string | undefined {
  const at = args.findLastIndex((arg) => split(arg)[0] === "--engine");
  return at < 0 ? undefined : split(args[at])[1] ?? args[at + 1];
}

/** The text of `--help`, with the defaults of the engine that `args` name. */
export function settingsHelp(args: readonly string[]): string {
  const rows = settingRows(engineIn(args));
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
    `A TIME is ${TIME_FORM}; a bare number is milliseconds.`,
    "Each option is also an environment variable: --port is TOKENTAP_PORT. An option wins over the environment.",
  ].join("\n");
}
