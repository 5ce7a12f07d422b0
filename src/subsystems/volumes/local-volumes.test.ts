import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import { createSeededRandom } from "../../kit/random.ts";
import { LocalVolumes } from "./local-volumes.ts";
import { tearDown } from "./teardown.ts";

const MOUNTS = "/r/plugins/kubernetes.io/local-volume/mounts";
const PODS = ["a", "b", "c"];
const SEEDS = 60;
const STEPS = 40;

/**
 * Pods come and go on two volumes, calls fail, agents restart: files are never lost nor beside the disk.
 * Returns how often a pod had all its volumes.
 */
async function play(seed: number): Promise<number> {
  const random = createSeededRandom(seed);
  let isTroubled = true;
  const fault = (operation: string) =>
    isTroubled && /mount|bind|map|Group|remove/i.test(operation) && random.next() < 0.15
      ? new OutsideError("io", `no ${operation}`)
      : undefined;
  const host = new FakeHost({ clock: new SimClock(), fault });
  const { files, volumes } = host;
  await files.makeDirectory("/dev", 0o755);
  files.addDevice("/dev/sda", "8:0");
  files.addDevice("/dev/sdb", "8:16");
  const open = () => new LocalVolumes("/r", host);
  let local = open();
  const written = new Set<string>();
  const pathsOf = (pod: string) => ({
    directory: `/r/pods/${pod}`,
    volumes: `/r/pods/${pod}/volumes`,
    volumeDevices: `/r/pods/${pod}/volumeDevices`,
    subPaths: `/r/pods/${pod}/volume-subpaths`,
  });
  const up = async (pod: string): Promise<void> => {
    const target = `/r/pods/${pod}/volumes/kubernetes.io~local-volume/files`;
    const group = { groupId: 7, readOnly: false };
    const rest = { fsType: "ext4", options: [], group, onOtherGroup: () => {} };
    await local.mount({ name: "files", path: "/dev/sda", target, ...rest });
    const links = `/r/pods/${pod}/volumeDevices/kubernetes.io~local-volume`;
    const { node } = await local.map({ name: "raw", path: "/dev/sdb", podUid: pod, links });
    assert.equal(files.deviceAt(node), "8:16");
    const name = `${pod}-${written.size}`;
    written.add(name);
    await files.writeAtomic(`${target}/${name}`, "", 0o600);
    const found = ((await files.list(target)) ?? []).map(({ name }) => name);
    assert.deepEqual(
      found.toSorted(),
      [...written].toSorted(),
      `seed ${seed}: files of the volume`,
    );
  };
  const down = (pod: string): Promise<void> =>
    tearDown(pathsOf(pod), {
      files,
      volumes,
      release: () => local.release(pod),
      unpublish: async () => {},
    });
  /** Runs the operations of one pod in order, as its worker does. */
  const turns = new Map(PODS.map((pod) => [pod, Promise.resolve()]));
  const faults: unknown[] = [];
  const later = (pod: string, work: (pod: string) => Promise<void>) => {
    const run = turns.get(pod)?.then(() => work(pod)) ?? Promise.resolve();
    turns.set(
      pod,
      run.catch((error: unknown) => {
        if (!(error instanceof OutsideError)) faults.push(error);
      }),
    );
  };
  for (let step = 0; step < STEPS; step += 1) {
    const pod = PODS[Math.floor(random.next() * PODS.length)] ?? "a";
    const dice = random.next();
    if (dice < 0.55) later(pod, up);
    else if (dice < 0.95) later(pod, down);
    else {
      await Promise.all(turns.values());
      local = open();
    }
    if (random.next() < 0.3) await Promise.all(turns.values());
  }
  await Promise.all(turns.values());
  isTroubled = false;
  for (const pod of PODS) await down(pod);
  assert.deepEqual(faults, []);
  assert.deepEqual([...volumes.mounted, ...volumes.held], [], `seed ${seed}: what is left`);
  assert.deepEqual((await files.list(MOUNTS)) ?? [], []);
  return written.size;
}

test("LocalVolumes: whatever fails, files stay on their disk and nothing is left at the end", async () => {
  let starts = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) starts += await play(seed);
  assert.ok(starts > 2 * SEEDS, `${starts} times a pod had its volumes`);
});
