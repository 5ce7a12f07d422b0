import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { TaskScope } from "../../kit/scope.ts";
import type { FileLocks } from "../../outside/host/host.ts";
import { Neighbors, rootNote } from "./neighbors.ts";

/** Locks in memory: several agents of one test share them. */
class MemoryLocks implements FileLocks {
  readonly pid = 1;
  readonly held = new Set<string>();

  async take(path: string): Promise<Disposable> {
    if (this.held.has(path)) throw new OutsideError("alreadyExists", `lock ${path}: it is locked`);
    this.held.add(path);
    return { [Symbol.dispose]: () => void this.held.delete(path) };
  }

  async isHeld(path: string): Promise<boolean> {
    return this.held.has(path);
  }
}

function world(fault?: (op: string, path: string) => OutsideError | undefined) {
  const clock = new SimClock();
  const { files, podFiles } = new FakeHost({ clock, ...(fault ? { fault } : {}) });
  const locks = new MemoryLocks();
  const agent = (root: string) => {
    const scope = new TaskScope(root, { clock, log: silentLog });
    const host = { files, podFiles, locks };
    return { scope, neighbors: new Neighbors(root, { host, clock, scope, log: silentLog }) };
  };
  const pod = async (root: string, uid: string) => {
    await files.makeDirectory(`${root}/pods/${uid}`, 0o750);
    // What the lock's file is on a machine.
    await files.makeDirectory("/run/nodelet-agents", 0o755);
    await files.writeAtomic(rootNote(root), "", 0o600);
  };
  return { clock, files, locks, agent, pod };
}

test("ownersOf: the pods of a running agent, of one that is gone and for how long, and of nobody", async () => {
  const { clock, agent, pod } = world();
  const [a, b] = [agent("/a"), agent("/b")];
  await a.neighbors.announce();
  await b.neighbors.announce();
  for (const [root, uid] of [
    ["/a", "own"],
    ["/a", "both"],
    ["/b", "both"],
    ["/b", "theirs"],
    ["/c", "left"],
    ["/c", "shared"],
    ["/b", "shared"],
  ] as const)
    await pod(root, uid);
  const asked = ["own", "both", "theirs", "left", "shared", "nobodys"];
  const expected = (forMs: number) => [
    ["left", { kind: "gone", root: "/c", forMs }],
    ["shared", { kind: "running", root: "/b" }],
    ["theirs", { kind: "running", root: "/b" }],
  ];
  const answer = async () => [...(await a.neighbors.ownersOf(asked))].toSorted();
  assert.deepEqual(await answer(), expected(0));
  await clock.advance(5_000);
  assert.deepEqual(await answer(), expected(5_000));
  await b.scope[Symbol.asyncDispose]();
  assert.deepEqual((await a.neighbors.ownersOf(["theirs"])).get("theirs"), {
    kind: "gone",
    root: "/b",
    forMs: 0,
  });
});

test("ownersOf: a pod stays its agent's after its folder is removed, until it is asked for no more", async () => {
  const { agent, pod, files } = world();
  const [a, b] = [agent("/a"), agent("/b")];
  await b.neighbors.announce();
  await pod("/b", "ending");
  assert.equal((await a.neighbors.ownersOf(["ending"])).get("ending")?.kind, "running");
  await files.removeTree("/b/pods/ending");
  assert.equal((await a.neighbors.ownersOf(["ending"])).get("ending")?.kind, "running");
  assert.equal((await a.neighbors.ownersOf([])).size, 0);
  assert.equal((await a.neighbors.ownersOf(["ending"])).size, 0);
});

test("ownersOf: what cannot be listed makes no pod nobody's, but for those with a folder of the agent's own", async () => {
  for (const [broken, unknown] of [
    ["/b/pods", ["x"]],
    ["/run/nodelet-agents", ["x"]],
    ["/a/pods", ["own", "x"]],
  ] as const) {
    let isBroken = false;
    const { agent, pod } = world((op, path) =>
      isBroken && op === "list" && path === broken ? new OutsideError("io", "EIO") : undefined,
    );
    await pod("/a", "own");
    await pod("/b", "theirs");
    isBroken = true;
    const owners = await agent("/a").neighbors.ownersOf(["own", "x"]);
    assert.deepEqual([...owners.keys()], unknown, broken);
    for (const owner of owners.values()) assert.deepEqual(owner, { kind: "unknown" });
  }
});
