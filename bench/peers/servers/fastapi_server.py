"""FastAPI's StreamingResponse on uvicorn: an async generator, which is cancelled when the client leaves."""

import asyncio
import json
import uuid
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

WORDS = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}

app = FastAPI()


@app.get("/health")
async def health():
    return {"status": "ok"}


async def events(max_tokens: int, ttft_ms: float, itl_ms: float):
    if ttft_ms > 0:
        await asyncio.sleep(ttft_ms / 1000)
    for index in range(max_tokens):
        if index > 0 and itl_ms > 0:
            await asyncio.sleep(itl_ms / 1000)
        token = WORDS[index % len(WORDS)]
        data = json.dumps({"token": token}, ensure_ascii=False, separators=(",", ":"))
        yield f"data: {data}\n\n"
    yield "data: [DONE]\n\n"


@app.get("/stream")
async def stream(max_tokens: int = 128, ttft_ms: float = 200, itl_ms: float = 20):
    return StreamingResponse(
        events(max_tokens, ttft_ms, itl_ms),
        media_type="text/event-stream",
        headers={**HEADERS, "X-Request-Id": str(uuid.uuid4())},
    )
