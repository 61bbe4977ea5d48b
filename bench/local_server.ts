import { startChild } from "./child.ts";
import { serveLauncher } from "./serve_launcher.ts";

/** A server in a process of its own. */
export interface LocalServer extends AsyncDisposable {
  url: string;
  pid: number;
}

const START_MS = 60_000;
const STOP_MS = 7_000;
/** The address in the line that says where the server listens, in either form of the log; a first run prints others before. */
const ANNOUNCED = /(?:listens on |"url":")(https?:\/\/[^\s"]+)/;

/**
 * Starts the service on a free port and waits until it prints its address. Disposing stops it: SIGTERM first, which
 * lets it end its streams, and SIGKILL when it has not exited within 7 s. A signal that ends this process ends it too.
 *
 * @param flags settings of the server, as on its command line
 * @param entry another program in its place, for tests
 * @throws {Error} when it exits or stays silent for 60 s (a first run may have to fetch its packages)
 */
export async function startServer(flags: readonly string[] = [], entry?: URL): Promise<LocalServer> {
  const launcher = await serveLauncher(flags, entry);
  const { command, args } = launcher(0);
  const child = startChild(command, {
    args,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });

  let output = "";
  const url = Promise.withResolvers<string>();
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    // Read to the end: a full pipe would block the server at its next log line.
    for await (const bytes of stream) {
      output = (output + decoder.decode(bytes, { stream: true })).slice(-4096);
      const found = ANNOUNCED.exec(output);
      // Only a whole line holds the whole address.
      if (found !== null && output.includes("\n", found.index)) url.resolve(found[1]);
    }
  };
  const reading = Promise.all([read(child.stdout), read(child.stderr)]);
  const stop = async () => {
    try {
      child.kill("SIGTERM");
    } catch {
      // It has exited by itself.
    }
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await child.status;
    clearTimeout(timer);
    await reading;
  };

  const timer = setTimeout(
    () => url.reject(new Error(`the server printed no address within ${START_MS} ms`)),
    START_MS,
  );
  reading.then(() => child.status).then(({ code }) => {
    const last = output.trim().split("\n").at(-1) ?? "";
    url.reject(new Error(`the server exited with code ${code} before it printed its address: ${last}`));
  });
  try {
    return { url: await url.promise, pid: child.pid, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
