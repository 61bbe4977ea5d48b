import project from "./deno.json" with { type: "json" };
import { ConfigError, type Settings } from "./lib/config.ts";
import type { Engine } from "./lib/engine/engine.ts";
import { type Clock, Pacer } from "./lib/engine/pacer.ts";
import { SimulatedEngine } from "./lib/engine/simulated.ts";
import { quote, shuttingDown } from "./lib/errors.ts";
import { HttpServer } from "./lib/http/server/http_server.ts";
import { lineWriter } from "./lib/lines.ts";
import { atOrigin, readSettings, settingsHelp, strangeVariables } from "./lib/read_settings.ts";
import {
  generationLine,
  listeningLine,
  refusedLine,
  shutdownLine,
  unexpectedLine,
} from "./lib/stream/log.ts";
import { Ledger } from "./lib/stream/ledger.ts";
import { Turn } from "./lib/stream/turn.ts";
import { createApp } from "./routes/app.ts";
import type { Deps } from "./routes/deps.ts";
import { rehearse } from "./routes/rehearsal.ts";

/** Engines beside the default one are loaded when they are chosen: nobody else pays for them at start. */
async function pickEngine(settings: Settings, clock: Clock): Promise<Engine> {
  switch (settings.engine) {
    case "simulated":
      return new SimulatedEngine(settings, clock);
    case "llama": {
      const { loadLlama } = await import("./lib/engine/llama/load.ts");
      return await loadLlama({
        model: settings.model,
        sequences: settings.maxNumSeqs,
        maxQueue: settings.maxWaitingQueueLength,
        contextLength: settings.maxModelLen,
        now: () => clock.now(),
      });
    }
    case "upstream": {
      const { UpstreamEngine } = await import("./lib/engine/upstream.ts");
      const { baseUrl } = await import("./lib/engine/upstream/request.ts");
      const { dial } = await import("./lib/engine/upstream/dial.ts");
      const url = baseUrl(settings.upstreamUrl);
      return new UpstreamEngine(
        {
          url,
          model: settings.upstreamModel,
          apiKey: await readKey(settings),
        },
        {
          connectMs: settings.upstreamConnectTimeout,
          idleMs: settings.upstreamIdleTimeout,
          totalMs: settings.upstreamTotalTimeout,
        },
        clock,
        dial(url),
      );
    }
  }
}

/** The upstream's key: from a file only, so that it stands in no process list and in no environment. */
async function readKey({ upstreamApiKeyFile: file }: Settings): Promise<string | undefined> {
  if (file === "") return undefined;
  const text = await Deno.readTextFile(file).catch((error) => {
    throw new ConfigError(`--upstream-api-key-file: wanted a file, got ${quote(file)} (${error.name}).`);
  });
  const key = text.trim();
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new ConfigError("--upstream-api-key-file: wanted a file with a key, one line of visible ASCII.");
}

/** Clients see the name of a model file, never its path. */
function served(settings: Settings): Settings {
  return settings.engine === "llama"
    ? { ...settings, model: settings.model.replace(/^.*[\\/]/, "") }
    : settings;
}

/** Connections that may wait to be accepted: only one accept is out at a time, and a thousand clients may come at once. */
const BACKLOG = 4096;

/** Two SIGINTs this close are one Ctrl-C. */
const ONE_KEYSTROKE_MS = 500;

/** What the last events need to be written; a reader that does not take them is not waited for. */
const LAST_WRITES_MS = 500;

function listen({ host, port }: Settings): Deno.TcpListener {
  try {
    return Deno.listen({ hostname: host, port, tcpBacklog: BACKLOG });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`--host and --port: cannot listen on ${quote(host)}, port ${port} (${why}).`);
  }
}

async function serve(settings: Settings): Promise<void> {
  const clock = new Pacer();
  const engine = await pickEngine(settings, clock);
  const { log, flush } = lineWriter((bytes) => Deno.stdout.writeSync(bytes));
  addEventListener("unload", flush);
  const onUnexpected = (id: string, error: unknown) =>
    log(unexpectedLine({ id }, error, settings.logFormat, new Date()));
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
  const deps: Deps = {
    engine,
    ledger,
    clock,
    turn: new Turn(() => clock.now(), () => clock.firing),
    settings: served(settings),
    draining: () => draining,
    onUnexpected,
    onRefused: (id, error) => log(refusedLine(id, error, settings.logFormat, new Date())),
  };
  const app = createApp(deps);
  async function stop(): Promise<void> {
    // A connection that asks for nothing, or does not take its last bytes, would hold the shutdown for good.
    setTimeout(() => Deno.exit(0), LAST_WRITES_MS);
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
    log(shutdownLine(ledger.running, settings.shutdownGrace, settings.logFormat, new Date()));
    setTimeout(() => {
      ledger.failAll(shuttingDown());
      setTimeout(() => Deno.exit(0), LAST_WRITES_MS);
    }, settings.shutdownGrace);
  }
  Deno.addSignalListener("SIGTERM", onSignal);
  // Ctrl-C reaches the server twice when a task runner passes on what the terminal has sent to both.
  let interruptedAt = -Infinity;
  Deno.addSignalListener("SIGINT", () => {
    const now = clock.now();
    // Only from one that counted: someone who keeps pressing would else renew the time for good.
    if (now - interruptedAt < ONE_KEYSTROKE_MS) return;
    interruptedAt = now;
    onSignal();
  });

  // Last: who can connect can also signal.
  const door = listen(settings);
  const server = new HttpServer(door, {
    handler: app.fetch,
    closing: () => draining,
    onError: (error, at) => log(unexpectedLine({ at }, error, settings.logFormat, new Date())),
  });
  const { hostname, port } = door.addr;
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  log(listeningLine(`http://${host}:${port}`, engine.name, settings.logFormat, new Date()));
  // Not before: the service is there at once. Who asks in the tenth of a second this takes may wait for one of its steps.
  setTimeout(() =>
    rehearse(app, deps).catch((error) =>
      log(unexpectedLine({ at: "rehearsal" }, error, settings.logFormat, new Date()))
    )
  );
}

if (import.meta.main) {
  if (Deno.args.includes("--help") || Deno.args.includes("-h")) {
    console.log(settingsHelp(Deno.args));
    Deno.exit(0);
  }
  if (Deno.args.includes("--version")) {
    console.log(`tokentap ${project.version}`);
    Deno.exit(0);
  }
  try {
    const env = Deno.env.toObject();
    const settings = readSettings(Deno.args, env);
    const strange = strangeVariables(env).map((name) => quote(name, 80));
    if (strange.length > 0) {
      console.error(`No such settings, passed over: ${strange.join(", ")}; see --help.`);
    }
    await serve(settings).catch((error) => {
      throw atOrigin(error, Deno.args, env);
    });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    Deno.exit(2);
  }
}
