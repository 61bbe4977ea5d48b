import { assertEquals } from "@std/assert";
import { postJson } from "../helpers/post_json.ts";
import { spawnService } from "../helpers/spawned_service.ts";

/** Nobody listens there: what is let through ends as 502. */
const FLAGS = ["--engine", "upstream", "--upstream-url", "http://127.0.0.1:1/v1", "--upstream-model", "m"];

Deno.test("an upstream's model has no length of ours, unless one is set", async () => {
  for (
    const [flags, length, status] of [[[], undefined, 502], [["--max-model-len", "4096"], 4096, 400]] as const
  ) {
    await using service = await spawnService(...FLAGS, ...flags);
    const { data } = await (await fetch(`${service.url}/v1/models`)).json();
    assertEquals(data[0].max_model_len, length);
    const messages = [{ role: "user", content: "hello" }];
    const reply = await postJson(`${service.url}/v1/chat/completions`, { messages, max_tokens: 20_000 });
    assertEquals(reply.status, status);
  }
});
