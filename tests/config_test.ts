import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { ConfigError, settingRows, Settings } from "../lib/config.ts";
import { atOrigin, readSettings, settingsHelp, strangeVariables } from "../lib/read_settings.ts";

const read = (args = "", env: Record<string, string> = {}) =>
  readSettings(args === "" ? [] : args.split(" "), env);
const complaint = (args: string, env: Record<string, string> = {}) => {
  const { message } = assertThrows(() => read(args, env), ConfigError);
  assertEquals(/[\r\n]/.test(message), false, "one line");
  return message;
};

Deno.test("without flags and environment the settings are the defaults, which are those of the contract", () => {
  const settings = read();
  assertEquals(settings, Settings.parse({}));
  const { host, port, engine, timeToFirstToken, interTokenLatency, maxNumSeqs } = settings;
  assertEquals([host, port, engine], ["127.0.0.1", 8170, "simulated"]);
  assertEquals([timeToFirstToken, interTokenLatency, maxNumSeqs], [200, 20, 256]);
  const { maxWaitingQueueLength, maxModelLen, keepAlive, timeFactorUnderLoad, realtime } = settings;
  assertEquals([maxWaitingQueueLength, maxModelLen, keepAlive], [1024, 8192, 15_000]);
  assertEquals([timeFactorUnderLoad, realtime, settings.ignoreDisconnects], [1, true, false]);
});

Deno.test("a flag stands over the environment, and that over the default", () => {
  const env = { TOKENTAP_PORT: "1", TOKENTAP_INTER_TOKEN_LATENCY: "5ms" };
  const { port, interTokenLatency, seed } = read("--port 2", env);
  assertEquals([port, interTokenLatency, seed], [2, 5, 0]);
});

Deno.test("an empty variable is as good as none, and variables of others are not looked at", () => {
  assertEquals(read("", { TOKENTAP_PORT: "", PORT: "1", TOKENTAP_NO_SUCH: "1" }).port, 8170);
});

Deno.test("a variable that is no setting is told, unless Kubernetes sets it for a Service called tokentap", () => {
  const links = {
    TOKENTAP_PORT: "tcp://10.0.0.1:8170",
    TOKENTAP_SERVICE_HOST: "10.0.0.1",
    TOKENTAP_SERVICE_PORT: "8170",
    TOKENTAP_SERVICE_PORT_HTTP: "8170",
    TOKENTAP_PORT_8170_TCP: "tcp://10.0.0.1:8170",
    TOKENTAP_PORT_8170_TCP_ADDR: "10.0.0.1",
  };
  assertEquals(read("", links).port, 8170);
  assertEquals(strangeVariables(links), []);
  const env = { ...links, TOKENTAP_PROT: "1", TOKENTAP_SEED: "1", tokentap_x: "", OTHER: "" };
  assertEquals(strangeVariables(env), ["TOKENTAP_PROT"]);
});

Deno.test("a value stands behind its flag or after a sign of equality, which it may hold itself", () => {
  assertEquals(read("--port=9 --model a=b").port, 9);
  assertEquals(read("--port=9 --model a=b").model, "a=b");
  assertEquals(read("--model=a=b").model, "a=b");
  assertEquals(read("--upstream-model=").upstreamModel, "");
});

Deno.test("the last of a repeated flag counts", () => assertEquals(read("--port 1 --port=2").port, 2));

Deno.test("a switch alone or before another option means true; a word behind it is its value", () => {
  assertEquals(read("--ignore-disconnects").ignoreDisconnects, true);
  assertEquals(read("--realtime --port 1", { TOKENTAP_REALTIME: "false" }).realtime, true);
  assertEquals(read("--ignore-disconnects false").ignoreDisconnects, false);
  assertEquals(read("--realtime=false --port 4").realtime, false);
  const { ignoreDisconnects, port } = read("--ignore-disconnects --port 4");
  assertEquals([ignoreDisconnects, port], [true, 4]);
});

const times: [text: string, ms: number][] = [
  ["20ms", 20],
  ["1.5s", 1500],
  ["2m", 120_000],
  ["1h", 3_600_000],
  ["24h", 86_400_000],
  ["250us", 0.25],
  ["0.05", 0.05],
  ["0", 0],
  ["7", 7],
  ["86400s", 86_400_000],
];
for (const [text, ms] of times) {
  Deno.test(`the time ${text} is ${ms} ms`, () => {
    assertEquals(read(`--inter-token-latency ${text}`).interTokenLatency, ms);
  });
}

const TIME = "a time like 20ms or 1.5s (us, ms, s, m, h)";
const bad: [args: string, says: string][] = [
  ["--port 65536", '--port: wanted a whole number from 0 to 65535, got "65536".'],
  ["--port -1", '--port: wanted a whole number from 0 to 65535, got "-1".'],
  ["--port 1.5", '--port: wanted a whole number from 0 to 65535, got "1.5".'],
  ["--port=", '--port: wanted a whole number from 0 to 65535, got "".'],
  ["--port 0x10", "wanted a whole number"],
  ["--port 1e3", "wanted a whole number"],
  ["--port --seed", 'got "--seed"'],
  ["--port", "--port: wanted N, got nothing."],
  ["--seed 4294967296", "from 0 to 4294967295"],
  ["--inter-token-latency 24.1h", `--inter-token-latency: wanted ${TIME} from 0 to 24h, got "24.1h".`],
  ["--inter-token-latency -1ms", `--inter-token-latency: wanted ${TIME} from 0 to 24h, got "-1ms".`],
  ["--inter-token-latency soon", `--inter-token-latency: wanted ${TIME} from 0 to 24h, got "soon".`],
  ["--inter-token-latency 1d", `--inter-token-latency: wanted ${TIME} from 0 to 24h, got "1d".`],
  ["--inter-token-latency 86401s", "from 0 to 24h"],
  ["--inter-token-latency=", `--inter-token-latency: wanted ${TIME} from 0 to 24h, got "".`],
  ["--stall-limit 2000m", `--stall-limit: wanted ${TIME} from 1ms to 24h, got "2000m".`],
  ["--keep-alive 0", `--keep-alive: wanted ${TIME} from 1ms to 24h, got "0".`],
  ["--time-factor-under-load 0.5", "wanted a number from 1 to 1000"],
  ["--time-factor-under-load NaN", "wanted a number from 1 to 1000"],
  ["--engine gpu", '--engine: wanted one of simulated, upstream, llama, got "gpu".'],
  ["--log-format xml", "wanted one of text, json"],
  ["--realtime=maybe", '--realtime: wanted true or false, got "maybe".'],
  ["--realtime maybe", '--realtime: wanted true or false, got "maybe".'],
  ["--ignore-disconnects yes --port 1", '--ignore-disconnects: wanted true or false, got "yes".'],
  ["--realtime=", '--realtime: wanted true or false, got "".'],
  ["--realtime  --port 1", '--realtime: wanted true or false, got "".'],
  ["--realtime -1", 'Unknown option "-1"'],
  ["--model=", '--model: wanted a text that is not empty, got "".'],
  ["--host=", '--host: wanted a text that is not empty, got "".'],
  ["--host  --port 1", '--host: wanted a text that is not empty, got "".'],
  ["--port  --seed 1", '--port: wanted a whole number from 0 to 65535, got "".'],
  ["--engine=", '--engine: wanted one of simulated, upstream, llama, got "".'],
  ["--model a\tb", "wanted a line of at most 1024 characters"],
  ["--no-such 1", 'Unknown option "--no-such"; see --help'],
  ["--Port 1", 'Unknown option "--Port"'],
  ["port 1", 'Unknown option "port"'],
  ["-p 1", 'Unknown option "-p"'],
  ["--maxNumSeqs 1", 'Unknown option "--maxNumSeqs"'],
  ["--constructor 1", "Unknown option"],
];
for (const [args, says] of bad) {
  Deno.test(`refused in one clear line: ${JSON.stringify(args)}`, () =>
    assertStringIncludes(complaint(args), says));
}

Deno.test("a bad variable is named as such, unless a flag stands over it", () => {
  const env = { TOKENTAP_PORT: "x" };
  assertStringIncludes(complaint("", env), 'TOKENTAP_PORT: wanted a whole number from 0 to 65535, got "x".');
  assertEquals(read("--port 1", env).port, 1);
  assertStringIncludes(complaint("--port y", env), "--port: wanted");
});

Deno.test("what is found later is blamed on the flag or variable that gave it, and on a flag where none did", () => {
  const url = "http://a/v1";
  const env = { TOKENTAP_PORT: "1", TOKENTAP_ENGINE: "upstream", TOKENTAP_UPSTREAM_URL: url };
  const cases: [args: string, says: string, becomes: string][] = [
    ["", '--port: wanted more, got "--port: x".', 'TOKENTAP_PORT: wanted more, got "--port: x".'],
    ["--port 2", "--port: wanted more.", "--port: wanted more."],
    // A flag's name may be another's value.
    ["--model --port", "--port: wanted more.", "TOKENTAP_PORT: wanted more."],
    ["", "--host and --port: cannot listen.", "--host and TOKENTAP_PORT: cannot listen."],
    ["--port=2 --host b", "--host and --port: cannot listen.", "--host and --port: cannot listen."],
    ["", "--engine upstream: has none.", "TOKENTAP_ENGINE=upstream: has none."],
    ["--engine upstream", "--engine upstream: has none.", "--engine upstream: has none."],
    // Advice stays as it is, also of a name that begins like another.
    ["", "--upstream-url: wanted none; see --port.", "TOKENTAP_UPSTREAM_URL: wanted none; see --port."],
    ["", "--upstream-url-x: wanted none.", "--upstream-url-x: wanted none."],
  ];
  for (const [args, says, becomes] of cases) {
    const error = atOrigin(new ConfigError(says), args === "" ? [] : args.split(" "), env);
    assert(error instanceof ConfigError);
    assertEquals([args, error.message], [args, becomes]);
  }
  const other = new Error("--port: is broken");
  assertEquals(atOrigin(other, [], env), other);
});

Deno.test("a hostile value is quoted short and on one line", () => {
  const message = complaint(`--port \r\n${"9".repeat(10_000)}`);
  assert(message.length < 200, message);
});

Deno.test("the llama engine has four slots unless told else", () => {
  assertEquals(read("--engine llama --model a.gguf").maxNumSeqs, 4);
  assertEquals(read("--engine llama --model a.gguf --max-num-seqs 9").maxNumSeqs, 9);
  assertEquals(read("--engine llama --model a.gguf", { TOKENTAP_MAX_NUM_SEQS: "7" }).maxNumSeqs, 7);
});

Deno.test("the llama engine wants a file, and says so where none was named", () => {
  const wanted = "wanted --model with it, a GGUF file, got nothing.";
  assertEquals(complaint("--engine llama"), `--engine llama: ${wanted}`);
  assertEquals(complaint("", { TOKENTAP_ENGINE: "llama" }), `TOKENTAP_ENGINE=llama: ${wanted}`);
  assertEquals(read("--engine llama", { TOKENTAP_MODEL: "a.gguf" }).model, "a.gguf");
});

const UPSTREAM = { TOKENTAP_ENGINE: "upstream", TOKENTAP_UPSTREAM_URL: "http://127.0.0.1:8000/v1" };

Deno.test("an upstream server's model is as long as it says, unless told else", () => {
  assertEquals(read("", UPSTREAM).maxModelLen, 10_000_000);
  assertEquals(read("--max-model-len 4096", UPSTREAM).maxModelLen, 4096);
  assertEquals(read("--engine simulated").maxModelLen, 8192);
});

Deno.test("the upstream engine wants a URL, and says so where none was given", () => {
  const wanted = "wanted --upstream-url with it, got nothing.";
  assertEquals(complaint("--engine upstream"), `--engine upstream: ${wanted}`);
  const env = { TOKENTAP_ENGINE: "upstream", TOKENTAP_UPSTREAM_URL: "" };
  assertEquals(complaint("", env), `TOKENTAP_ENGINE=upstream: ${wanted}`);
});

Deno.test("what is said of an upstream server without its engine is refused: its tokens would be made up", () => {
  const settings = settingRows().filter(({ flag }) => flag.startsWith("--upstream-"));
  assertEquals(settings.length, 6);
  for (const { key, flag, env, kind } of settings) {
    const value = kind === "TIME" ? "3ms" : "word";
    for (const engine of ["simulated", "llama"]) {
      const wanted = `wanted --engine upstream with it, got the engine ${engine}.`;
      assertEquals(complaint(`--engine ${engine} ${flag} ${value}`), `${flag}: ${wanted}`);
      assertEquals(complaint("", { [env]: value, TOKENTAP_ENGINE: engine }), `${env}: ${wanted}`);
    }
    assertEquals(String(read(`${flag} ${value}`, UPSTREAM)[key]), value.replace("ms", ""));
  }
});

Deno.test("the help names the units of a time", () =>
  assertStringIncludes(
    settingsHelp([]),
    "A TIME is like 20ms or 1.5s (us, ms, s, m, h); a bare number is milli",
  ));

Deno.test("every setting has a flag and a variable that set it, and is in the help with its default", () => {
  const help = settingsHelp([]);
  const rows = settingRows();
  assertEquals(rows.map(({ key }) => key).sort(), Object.keys(Settings.shape).sort());
  for (const { key, flag, env, default: shown, kind, about } of rows) {
    assertMatch(flag, /^--[a-z]+(-[a-z]+)*$/);
    assertEquals(env, "TOKENTAP_" + flag.slice(2).toUpperCase().replaceAll("-", "_"));
    assertMatch(help, new RegExp(`^  ${flag} `, "m"));
    const line = help.split("\n").find((each) => each.startsWith(`  ${flag} `))!;
    assertStringIncludes(line, `${about} (${shown})`);
    const value = { TIME: "3ms", N: "2000", X: "2.5", BOOL: "true" }[kind] ?? (kind.split("|")[1] ?? "word");
    const byFlag = readSettings([flag, value], UPSTREAM);
    assertEquals(byFlag[key], readSettings([], { ...UPSTREAM, [env]: value })[key]);
    assertEquals(String(byFlag[key]), value.replace("ms", ""), flag);
  }
});

Deno.test("the help has the defaults of the engine that is named, and those without one for a name that is none", () => {
  const shown = (args: string) =>
    ["--max-num-seqs", "--max-model-len"].map((flag) =>
      new RegExp(`^  ${flag} .*\\((.*)\\)$`, "m").exec(settingsHelp(args.split(" ")))?.[1]
    );
  assertEquals(shown("--engine llama --help"), ["4", "8192"]);
  assertEquals(shown("--help --engine=upstream"), ["256", "10000000"]);
  assertEquals(shown("--engine llama --no-such --engine simulated"), ["256", "8192"]);
  for (const args of ["--help", "--engine --help", "--engine", "--engine __proto__"]) {
    assertEquals(shown(args), ["256", "8192"], args);
  }
});

Deno.test("a default that is shown is one that can be given", () => {
  for (const { key, flag, default: shown } of settingRows()) {
    if (shown === "none") assertEquals(read()[key], "");
    else {
      const env = key.startsWith("upstream") ? UPSTREAM : {};
      assertEquals(readSettings([flag, shown], env)[key], read()[key], flag);
    }
  }
});
