import { parseArgs } from "node:util";
import { z } from "zod";

/** An option that does not exist or a value that cannot be used: one line, exit code 2. */
export class UsageError extends Error {}

/** A number on a command line. */
export function number(min: number, max: number): z.ZodType<number, string> {
  return given(`a number from ${min} to ${max}`, (text) => /^\d+(\.\d+)?$/.test(text), min, max);
}

/** A whole number on a command line. */
export function whole(min: number, max: number): z.ZodType<number, string> {
  return given(`a whole number from ${min} to ${max}`, (text) => /^\d+$/.test(text), min, max);
}

function given(wanted: string, form: (text: string) => boolean, min: number, max: number) {
  return z.string().refine((text) => form(text) && Number(text) >= min && Number(text) <= max, wanted)
    .transform(Number);
}

/**
 * Reads a command line against a schema whose keys are the names of the options; the boolean ones take no value.
 *
 * @throws {UsageError} for an unknown option or a value the schema refuses
 */
export function readOptions<T extends z.ZodRawShape>(
  schema: z.ZodObject<T>,
  args: string[],
): z.output<z.ZodObject<T>> | "help" {
  const isFlag = (key: string) => schema.shape[key] === FLAG;
  const options = Object.fromEntries(
    [...Object.keys(schema.shape)].map((key) => [key, { type: isFlag(key) ? "boolean" : "string" } as const]),
  );
  let values: Record<string, unknown>;
  try {
    ({ values } = parseArgs({ args, options: { ...options, help: { type: "boolean", short: "h" } } }));
  } catch (error) {
    throw new UsageError((error as Error).message.replaceAll("\n", " "));
  }
  if (values.help) return "help";
  const parsed = schema.safeParse(values, { reportInput: true });
  if (parsed.success) return parsed.data;
  const [{ path: [option, item], message, input }] = parsed.error.issues;
  const given = values[String(option)];
  const came = item === undefined || input === given ? `"${given}"` : `"${input}" in "${given}"`;
  throw new UsageError(`--${String(option)}: wanted ${message}, got ${came}`);
}

/** An option without a value. */
export const FLAG = z.boolean().default(false);

/**
 * Runs a command: its options, its work, and its exit code, 2 for bad usage and 1 for a failure, each with one line.
 */
export async function command<Options>(
  { name, help, parse, work }: {
    name: string;
    help: string;
    parse: (args: string[]) => Options | "help";
    work: (options: Options) => Promise<number>;
  },
): Promise<void> {
  try {
    const options = parse(Deno.args);
    if (options === "help") console.log(help.trimEnd());
    else Deno.exitCode = await work(options);
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? error.message : error}`);
    Deno.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
