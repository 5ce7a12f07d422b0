// The records of pulls: what is left of pulls that a previous run began.
import assert from "node:assert/strict";
import { test } from "node:test";
import { OutsideError } from "../../src/kit/errors.ts";
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

async function expectRefused(world: ImageWorld): Promise<void> {
  const answer = await world.ensure(IMAGE);
  assert.equal(answer.kind, "refused");
  assert.equal(answer.kind === "refused" && answer.reason, "ErrImagePull");
}

const notes = async (world: ImageWorld) =>
  ((await world.host.files.list(`${FOLDER}/pulling`)) ?? []).length;

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
