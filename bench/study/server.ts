import { type LocalServer, startServer } from "../measure/local_server.ts";

/**
 * Runs `work` with a server of its own, started with `flags`, and stops the server after, also when this process is
 * told to end.
 */
export async function withServer<T>(
  flags: readonly string[],
  work: (server: LocalServer) => Promise<T>,
): Promise<T> {
  await using server = await startServer(undefined, flags);
  const stop = async () => {
    await server[Symbol.asyncDispose]();
    Deno.exit(1);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  try {
    return await work(server);
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, stop);
  }
}
