import { assertEquals, assertThrows } from "@std/assert";
import { ConfigError } from "../../lib/config.ts";
import { baseUrl } from "../../lib/engine/upstream/request.ts";
import { rawServer } from "../helpers/raw_server.ts";
import { delta, DONE, finish, stream } from "../helpers/scripted_upstream.ts";
import { runMain, spawnService } from "../helpers/spawned_service.ts";

Deno.test("the base of the upstream is a URL without a key in it", () => {
  assertEquals(baseUrl("http://127.0.0.1:8000/v1"), "http://127.0.0.1:8000/v1");
  assertEquals(baseUrl("https://host/openai/v1//"), "https://host/openai/v1");
  assertEquals(baseUrl("http://[::1]:8000"), "http://[::1]:8000");
  for (const text of ["", "host:8000", "ftp://host", "http://host/v1?key=1", "http://me:key@host/v1"]) {
    assertThrows(() => baseUrl(text), ConfigError, "--upstream-url: wanted");
  }
});

Deno.test("an upstream that cannot be used ends with one clear line and exit code 2", async () => {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${dir}/two`, "sk-one\nsk-two\n");
    const url = ["--engine", "upstream", "--upstream-url", "http://127.0.0.1:1/v1"];
    const cases: [string[], string][] = [
      [["--engine", "upstream"], "--engine upstream: wanted --upstream-url with it, got nothing.\n"],
      [
        ["--engine", "upstream", "--upstream-url", ""],
        '--upstream-url: wanted a URL like http://127.0.0.1:8000/v1, got "".\n',
      ],
      [
        [...url, "--upstream-api-key-file", "no/such"],
        '--upstream-api-key-file: wanted a file, got "no/such" (NotFound).\n',
      ],
      [
        [...url, "--upstream-api-key-file", `${dir}/two`],
        "--upstream-api-key-file: wanted a file with a key, one line of visible ASCII.\n",
      ],
    ];
    for (const [flags, line] of cases) {
      assertEquals(await runMain(...flags), { code: 2, stdout: "", stderr: line });
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("main.ts asks the upstream for its model with the key from the file", async () => {
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(file, "  sk-from-file\n");
    await using upstream = await rawServer(stream([delta("a"), finish(), DONE]));
    await using service = await spawnService(
      ...["--engine", "upstream", "--upstream-url", `${upstream.url}/v1/`, "--upstream-model", "org/m"],
      ...["--upstream-api-key-file", file],
    );
    const reply = await fetch(`${service.url}/stream?prompt=hello`);
    assertEquals(await reply.text(), 'data: {"token":"a"}\n\ndata: [DONE]\n\n');
    const [head, body] = upstream.requests[0].head.split("\r\n\r\n");
    assertEquals(/^authorization: (.*)$/m.exec(head)?.[1], "Bearer sk-from-file");
    assertEquals(JSON.parse(body).model, "org/m");
  } finally {
    await Deno.remove(file);
  }
});
