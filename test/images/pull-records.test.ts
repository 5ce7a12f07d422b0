// The records of pulls: what is left of pulls that a previous run began, and which records go with their images.
import assert from "node:assert/strict";
import { test } from "node:test";
import { OutsideError } from "../../src/kit/errors.ts";
import { silentLog } from "../../src/kit/log.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { PulledRecords } from "../../src/subsystems/images/credentials/pulled-records.ts";
import { FakeHost } from "../sim/fake-host.ts";
import { SimClock } from "../sim/sim-clock.ts";
import { ImageWorld, present } from "./world.ts";

const IMAGE = "nodelet.test/app:1";
const FOLDER = "/var/lib/kubelet/image_manager";
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const VERIFIED = { imagePullCredentialsVerificationPolicy: "NeverVerifyPreloadedImages" } as const;

/** A node whose previous run was killed during a pull of the image; the registry refuses everybody. */
async function afterKill(): Promise<ImageWorld> {
  const world = new ImageWorld({ config: VERIFIED });
  world.runtime.store.onPull = () => {
    throw new OutsideError("denied", "401 Unauthorized");
  };
  await world.host.files.makeDirectory(`${FOLDER}/pulling`, 0o700);
  const apiVersion = "kubelet.config.k8s.io/v1beta1";
  const intent = { kind: "ImagePullIntent", apiVersion, image: IMAGE };
  // Named by the sha256 of the image's name, as the agent does.
  const name = "sha256-cba1dc6c4aceb084d9271806a5d0fcfb8c7eed37acb05fd02d96b90e4fbd4fb8";
  await world.host.files.writeAtomic(`${FOLDER}/pulling/${name}`, JSON.stringify(intent), 0o600);
  return await world.open();
}

async function expectRefused(world: ImageWorld, image = IMAGE): Promise<void> {
  const answer = await world.ensure(image);
  assert.equal(answer.kind, "refused");
  assert.equal(answer.kind === "refused" && answer.reason, "ErrImagePull");
}

const notes = async (world: ImageWorld) =>
  ((await world.host.files.list(`${FOLDER}/pulling`)) ?? []).length;

test("the folders of the records are there from the start", async () => {
  const world = await new ImageWorld({ config: VERIFIED }).open();
  const names = ((await world.host.files.list(FOLDER)) ?? []).map(({ name }) => name);
  assert.deepEqual(names.sort(), ["pulled", "pulling"]);
});

test("a pull that fails does not make an image free that a previous run may have pulled", async () => {
  const world = await afterKill();
  world.runtime.store.add(IMAGE);
  await expectRefused(world);
  await world.clock.advance(MINUTE);
  await expectRefused(world);
  await world.open();
  await expectRefused(world);
  await world.clock.advance(MINUTE);
  await world.run(world.images.list(world.signal));
  await expectRefused(world);
  assert.equal(await notes(world), 0, "a record has taken its place");
  await world.open();
  await world.clock.advance(MINUTE);
  await expectRefused(world);
});

test("an image that the runtime ends pulling after the first listing has to be asked for", async () => {
  const world = await afterKill();
  await world.run(world.images.list(world.signal));
  await expectRefused(world);
  await world.clock.advance(MINUTE);
  world.runtime.store.add(IMAGE);
  await world.run(world.images.list(world.signal));
  assert.equal(await notes(world), 0);
  await expectRefused(world);
});

test("the note of a pull that left no image goes after a day", async () => {
  const world = await afterKill();
  await world.clock.advance(DAY - 1);
  await world.run(world.images.list(world.signal));
  assert.equal(await notes(world), 1);
  await world.clock.advance(1);
  await world.run(world.images.list(world.signal));
  assert.equal(await notes(world), 0);
  world.runtime.store.add(IMAGE);
  present(await world.ensure(IMAGE));
});

test("a note stays as long as the record in its place cannot be written", async () => {
  const world = await afterKill();
  world.runtime.store.add(IMAGE);
  const { files } = world.host;
  const write = files.writeAtomic.bind(files);
  files.writeAtomic = (path, ...rest) =>
    path.includes("/pulled/")
      ? Promise.reject(new OutsideError("io", "the disk is sick"))
      : write(path, ...rest);
  for (let listings = 0; listings < 2; listings += 1) {
    await world.run(world.images.list(world.signal));
    assert.equal(await notes(world), 1);
  }
  files.writeAtomic = write;
  await world.run(world.images.list(world.signal));
  assert.equal(await notes(world), 0);
  await world.open();
  await expectRefused(world);
});

/** Records by themselves, and the access that a secret gives. */
async function newRecords() {
  const clock = new SimClock();
  const { files } = new FakeHost({ clock });
  const state = new StateFiles({ files, clock, log: silentLog });
  const policy = "NeverVerifyPreloadedImages";
  const records = new PulledRecords(
    { folder: FOLDER, policy, allowlist: [] },
    { state, clock, log: silentLog },
  );
  await records.load();
  const pull = async (image: string, name: string) => {
    const secret = { uid: name, namespace: "default", name, credentialHash: name };
    await records.began(image);
    await records.pulled(image, `sha256:${image}`, { kubernetesSecrets: [secret] });
  };
  const texts = async () => {
    const entries = (await files.list(`${FOLDER}/pulled`)) ?? [];
    const paths = entries.map(({ name }) => `${FOLDER}/pulled/${name}`);
    return await Promise.all(paths.map((path) => files.readText(path, { maxBytes: 9_999 })));
  };
  return { clock, files, records, pull, texts };
}

test("the record of an image that was pulled again with the same secret stays", async () => {
  const { clock, records, pull, texts } = await newRecords();
  await pull(IMAGE, "key");
  await clock.advance(MINUTE);
  const beganMs = clock.wall();
  await pull(IMAGE, "key");
  await records.prune(new Set(), beganMs);
  assert.equal(records.sizes.pulled, 1);
  assert.match(String(await texts()), /"lastUpdatedTime": ?"2026-01-01T00:01:00Z"/);
  await clock.advance(1);
  await records.prune(new Set(), clock.wall());
  assert.deepEqual([records.sizes.pulled, await texts()], [0, []]);
});

test("the record of an image that is pulled while those of others are removed stays", async () => {
  const { clock, files, records, pull, texts } = await newRecords();
  await pull("nodelet.test/a:1", "key");
  await pull(IMAGE, "key");
  await clock.advance(MINUTE);
  const blocked = Promise.withResolvers<void>();
  const remove = files.remove.bind(files);
  files.remove = async (path) => {
    if (path.includes("/pulled/")) await blocked.promise;
    await remove(path);
  };
  const pruned = records.prune(new Set(), clock.wall());
  await pull(IMAGE, "other");
  blocked.resolve();
  await pruned;
  assert.equal(records.sizes.pulled, 1);
  assert.match(String(await texts()), /"name": ?"other"/);
});

/** A record of the Go kubelet: anybody may use the image under the name that a pod wrote. */
async function withGoRecord(world: ImageWorld, imageRef: string, name: string): Promise<void> {
  await world.host.files.makeDirectory(`${FOLDER}/pulled`, 0o700);
  const record = {
    kind: "ImagePulledRecord",
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    lastUpdatedTime: "2025-10-21T12:26:40Z",
    imageRef,
    credentialMapping: { [name]: { nodePodsAccessible: true } },
  };
  const path = `${FOLDER}/pulled/sha256-${"0".repeat(64)}`;
  await world.host.files.writeAtomic(path, JSON.stringify(record), 0o600);
}

const DIGEST = `sha256:${"a".repeat(64)}`;
for (const [recorded, image, counts] of [
  ["team/app", "team/app:1", true],
  ["team/app", "team/app", true],
  ["team/app", `team/app:1@${DIGEST}`, true],
  ["docker.io/team/app", "docker.io/team/app:1", true],
  ["docker.io/team/app", "team/app:1", false],
  ["team/app", "docker.io/team/app:1", false],
  ["docker.io/library/app", "app:1", false],
  ["app", "app:1", true],
] as const)
  test(`a record of ${recorded} ${counts ? "lets" : "does not let"} a pod use ${image}`, async () => {
    const world = new ImageWorld({ config: VERIFIED });
    const name = image.includes(":") ? image : `${image}:latest`;
    world.runtime.store.add(name);
    await withGoRecord(world, `sha256:${name}`, recorded);
    world.runtime.store.onPull = () => {
      throw new OutsideError("denied", "401 Unauthorized");
    };
    await world.open();
    if (counts) return void present(await world.ensure(image));
    await expectRefused(world, image);
  });

for (const [pattern, image, isFree] of [
  ["docker.io/library/*", "docker.io/library/ubuntu:1", true],
  ["docker.io/library/*", "ubuntu:1", false],
  ["docker.io/library/ubuntu", "ubuntu:1", false],
  ["ubuntu", "ubuntu:1", true],
  ["ubuntu", "docker.io/library/ubuntu:1", false],
] as const)
  test(`the allowlist's ${pattern} ${isFree ? "frees" : "does not free"} ${image}`, async () => {
    const world = new ImageWorld({
      config: {
        imagePullCredentialsVerificationPolicy: "NeverVerifyAllowlistedImages",
        preloadedImagesVerificationAllowlist: [pattern],
      },
    });
    world.runtime.store.add(image);
    world.runtime.store.onPull = () => {
      throw new OutsideError("denied", "401 Unauthorized");
    };
    await world.open();
    if (isFree) return void present(await world.ensure(image));
    await expectRefused(world, image);
  });

test("what is written about a pull names the image as the pod does", async () => {
  const world = await new ImageWorld({ config: VERIFIED }).open();
  const written: string[] = [];
  const { files } = world.host;
  const write = files.writeAtomic.bind(files);
  files.writeAtomic = (path, content, mode) => {
    if (path.startsWith(FOLDER)) written.push(String(content));
    return write(path, content, mode);
  };
  present(await world.ensure("nodelet.test/app"));
  const [intent, record] = written.map((text) => JSON.parse(text) as Record<string, object>);
  assert.equal(intent?.["image"], "nodelet.test/app");
  assert.deepEqual(Object.keys(record?.["credentialMapping"] ?? {}), ["nodelet.test/app"]);
});
