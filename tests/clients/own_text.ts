/** The text of `/generate` for the prompt "hello": what every client is to see. */
export async function ownText(url: string, tokens: number): Promise<string> {
  const response = await fetch(`${url}/generate`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ prompt: "hello", max_tokens: tokens }),
  });
  return (await response.json()).text;
}
