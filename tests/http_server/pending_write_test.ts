import { assertEquals } from "@std/assert";
import { PendingWrite, type WriteOwner } from "../../lib/http/server/pending_write.ts";
import { MemorySocket } from "./memory_socket.ts";
import { settle } from "./serving.ts";

const encode = (text: string) => new TextEncoder().encode(text);

class CountingOwner implements WriteOwner {
  told: string[] = [];

  taken(): void {
    this.told.push("taken");
  }

  lost(): void {
    this.told.push("lost");
  }
}

Deno.test("an owner hears that its bytes were taken when it asked, and not otherwise", async () => {
  const socket = new MemorySocket();
  for (const asked of [true, false]) {
    const owner = new CountingOwner();
    const write = PendingWrite.of(owner, socket, encode("a"));
    write.asked = asked;
    write.begin();
    assertEquals(write.owner, owner);
    await settle();
    assertEquals([owner.told, write.owner], [asked ? ["taken"] : [], undefined]);
  }
});

Deno.test("a write that its owner has let go is not used for another before the socket is done with it", async () => {
  const held = new MemorySocket();
  const release = held.hold();
  const gone = new CountingOwner();
  const old = PendingWrite.of(gone, held, encode("old"));
  old.asked = true;
  old.begin();
  old.owner = undefined;
  const socket = new MemorySocket();
  const owner = new CountingOwner();
  const next = PendingWrite.of(owner, socket, encode("next")).begin();
  assertEquals(next === old, false);
  await settle();
  release();
  await settle();
  assertEquals([held.text, socket.text, gone.told, owner.told], ["old", "next", [], []]);
});

Deno.test("a write let go before it began is never made, and one taken in part loses its rest", async () => {
  const socket = new MemorySocket();
  const first = PendingWrite.of(new CountingOwner(), socket, encode("never")).putOff();
  first.owner = undefined;
  await settle();
  assertEquals(socket.text, "");
  socket.taken = 2;
  const second = PendingWrite.of(new CountingOwner(), socket, encode("part")).begin();
  second.owner = undefined;
  await settle();
  assertEquals(socket.text, "pa");
});

Deno.test("a failed write is told to its owner, asked or not, and to nobody when there is none", async () => {
  for (const owned of [true, false]) {
    const socket = new MemorySocket();
    socket.shut = true;
    const owner = new CountingOwner();
    const write = PendingWrite.of(owner, socket, encode("a")).begin();
    if (!owned) write.owner = undefined;
    await settle();
    assertEquals([owner.told, write.owner], [owned ? ["lost"] : [], undefined]);
  }
});
