import { ConfigError, readSettings, type Settings, settingsHelp } from "./lib/config.ts";
import type { Engine } from "./lib/engine/engine.ts";
import { type Clock, Pacer } from "./lib/engine/pacer.ts";
import { SimulatedEngine } from "./lib/engine/simulated.ts";
import { TapError } from "./lib/errors.ts";
import { generationLine, unexpectedLine } from "./lib/stream/log.ts";
import { Ledger } from "./lib/stream/ledger.ts";
import { Turn } from "./lib/stream/turn.ts";
import { createApp } from "./routes/app.ts";

async function pickEngine(settings: Settings, clock: Clock): Promise<Engine> {
  switch (settings.engine) {
    case "simulated":
      return new SimulatedEngine(settings, clock);
    case "llama": {
      // Loaded late: nobody else is to fetch the binary, or even to read the loader.
      const { loadLlama } = await import("./lib/engine/llama/load.ts");
      return await loadLlama({
        model: settings.model,
        sequences: settings.maxNumSeqs,
        maxQueue: settings.maxWaitingQueueLength,
        contextLength: settings.maxModelLen,
        now: () => clock.now(),
      });
    }
    default:
      throw new ConfigError(`--engine ${settings.engine} is not built in yet.`);
  }
}

/** Clients see the name of a model file, never its path. */
function served(settings: Settings): Settings {
  return settings.engine === "llama"
    ? { ...settings, model: settings.model.replace(/^.*[\\/]/, "") }
    : settings;
}

async function serve(settings: Settings): Promise<void> {
  const clock = new Pacer();
  const engine = await pickEngine(settings, clock);
  const log = (text: string) => console.log(text);
  const onUnexpected = (id: string, error: unknown) =>
    log(unexpectedLine(id, error, settings.logFormat, new Date()));
  const ledger = new Ledger({
    clock,
    onEnded: (record) => {
      log(generationLine(record, settings.logFormat, new Date()));
      if (draining && ledger.running === 0) stop();
    },
    onUnexpected,
    ignoreDisconnects: settings.ignoreDisconnects,
  });
  let draining = false;
  const app = createApp({
    engine,
    ledger,
    clock,
    turn: new Turn(),
    settings,
    draining: () => draining,
    onUnexpected,
  });
  const server = Deno.serve({
    hostname: settings.host,
    port: settings.port,
    onListen: ({ hostname, port }) => {
      const host = hostname.includes(":") ? `[${hostname}]` : hostname;
      log(`Tokentap listens on http://${host}:${port} (engine ${engine.name})`);
    },
  }, app.fetch);

  async function stop(): Promise<void> {
    await server.shutdown();
    await engine.close?.();
    Deno.exit(0);
  }

  function onSignal(): void {
    // The second signal, or a stop that hangs: no more patience.
    if (draining) Deno.exit(1);
    draining = true;
    if (ledger.running === 0) {
      stop();
      return;
    }
    setTimeout(() => {
      ledger.failAll(new TapError("shutting_down", "The server is shutting down."));
      // What the last events need to be written; a reader that does not take them is not waited for.
      setTimeout(() => Deno.exit(0), 500);
    }, settings.shutdownGrace);
  }
  Deno.addSignalListener("SIGTERM", onSignal);
  Deno.addSignalListener("SIGINT", onSignal);
}

if (import.meta.main) {
  if (Deno.args.includes("--help") || Deno.args.includes("-h")) {
    console.log(settingsHelp());
    Deno.exit(0);
  }
  try {
    await serve(readSettings(Deno.args, Deno.env.toObject()));
  } catch (error) {
    if (!(error instanceof ConfigError) && !(error instanceof Deno.errors.AddrInUse)) throw error;
    console.error(error.message);
    Deno.exit(2);
  }
}
