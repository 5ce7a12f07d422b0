import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../../test/sim/fake-host.ts";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { isOutside, UsageError } from "../../../kit/errors.ts";
import { silentLog } from "../../../kit/log.ts";
import { StateFiles } from "../../../kit/state/state-files.ts";
import type { Program } from "../../../outside/program.ts";
import { openUserNamespaces } from "./user-namespaces.ts";

const U = 65_536;
const signal = new AbortController().signal;

async function world(more: { readonly subIds?: string; readonly subGids?: string } = {}) {
  const host = new FakeHost({ clock: new SimClock() });
  for (const uid of ["a", "b", "c"]) await host.files.makeDirectory(`/r/pods/${uid}`, 0o750);
  const { subIds, subGids = subIds } = more;
  if (subIds !== undefined) {
    for (const folder of ["/etc", "/usr/bin"]) await host.files.makeDirectory(folder, 0o755);
    await host.files.writeAtomic(
      "/etc/passwd",
      "root:x:0:0::/:/bin/sh\nkubelet:x:9:9::/:\n",
      0o644,
    );
    await host.files.writeAtomic("/usr/bin/getsubids", "", 0o755);
  }
  const runProgram = async ({ args }: Program) => ({
    code: 0,
    by: "",
    stderr: "",
    stdout: (args[0] === "-g" ? subGids : subIds) ?? "",
  });
  const open = (maxPods = 2) => {
    const config = { userNamespaces: { idsPerPod: U }, maxPods };
    const machine = { files: host.files, runProgram };
    const state = new StateFiles({ files: host.files, clock: new SimClock(), log: silentLog });
    return openUserNamespaces({ config, rootFolder: "/r" }, { host: machine, state }, signal);
  };
  return { host, open };
}

test("pods have ranges of their own, kept over a restart, given back and given again", async () => {
  const { open, host } = await world();
  const first = await open();
  assert.deepEqual(await first.rangeOf("a"), { first: U, length: U });
  assert.deepEqual(await first.rangeOf("b"), { first: 2 * U, length: U });
  assert.deepEqual(await first.rangeOf("a"), { first: U, length: U });
  const second = await open();
  assert.deepEqual(await second.rangeOf("c"), { first: 3 * U, length: U });
  assert.deepEqual(await second.rangeOf("b"), { first: 2 * U, length: U });
  await second.release("b");
  assert.equal(await host.files.readText("/r/pods/b/userns", { maxBytes: 100 }), undefined);
  assert.deepEqual(await second.rangeOf("b"), { first: 2 * U, length: U });
});

test("two pods that ask at once never get the same ids", async () => {
  const { open } = await world();
  const namespaces = await open();
  const ranges = await Promise.all(["a", "b", "c"].map((uid) => namespaces.rangeOf(uid)));
  assert.equal(new Set(ranges.map(({ first }) => first)).size, 3);
});

test("the subordinate ids of the user kubelet, and no more of them than there are", async () => {
  const { open, host } = await world({ subIds: `0: kubelet ${4 * U} ${2 * U}\n` });
  const namespaces = await open();
  assert.equal((await namespaces.rangeOf("a")).first, 4 * U);
  assert.equal((await namespaces.rangeOf("b")).first, 5 * U);
  await assert.rejects(
    namespaces.rangeOf("c"),
    (error) =>
      isOutside(error, "exhausted") &&
      error.message ===
        "create user namespace: could not find an empty slot to allocate a user namespace",
  );
  // An orphan's folder is gone: what it had is free.
  await host.files.removeTree("/r/pods/a");
  assert.equal((await namespaces.rangeOf("c")).first, 4 * U);
});

test("ids that cannot serve the node's pods keep the agent from starting", async () => {
  const few = await world({ subIds: `0: kubelet ${U} ${2 * U}\n` });
  await assert.rejects(few.open(3), UsageError);
  const two = await world({ subIds: `0: kubelet ${U} ${2 * U}\n`, subGids: "0: kubelet 1 2\n" });
  await assert.rejects(two.open(), /mismatched subuids and subgids for user "kubelet"/);
});

test("a pod whose file cannot be used does not get other ids", async () => {
  const { open, host } = await world();
  await host.files.writeAtomic("/r/pods/a/userns", "{}", 0o600);
  const namespaces = await open();
  await assert.rejects(namespaces.rangeOf("a"), /^OutsideError: user namespace: invalid/);
});
