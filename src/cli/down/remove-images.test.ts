import assert from "node:assert/strict";
import { test } from "node:test";
import { type FakeCall, FakeImages } from "../../../test/sim/fake-images.ts";
import { OutsideError } from "../../kit/errors.ts";
import { imagesWithout, removeImages } from "./remove-images.ts";

const DIGEST = `registry.test/app@sha256:${"a".repeat(64)}`;
const image = (id: string, repoTags: readonly string[], repoDigests: readonly string[] = []) => ({
  id,
  repoTags: [...repoTags],
  repoDigests: [...repoDigests],
});

test("imagesWithout spares images by any of their tags and by digest", () => {
  const images = [
    image("pause", ["registry.k8s.io/pause:3.10"]),
    image("two names", ["docker.io/example/app:1", "docker.io/example/app:2"]),
    image("digest only", [], [DIGEST]),
    image("no name", []),
  ];
  const kept = ["docker.io/example/app:2", DIGEST];
  assert.deepEqual(imagesWithout(images, kept), ["pause", "no name"]);
  assert.deepEqual(
    imagesWithout(images, []),
    images.map(({ id }) => id),
  );
});

test("removeImages goes on after an image that cannot be removed, and says why it is left", async () => {
  const images = new FakeImages();
  for (const name of ["nodelet.test/a:1", "nodelet.test/b:1", "nodelet.test/c:1"]) images.add(name);
  const call: FakeCall = async (_, __, act) => act();
  const service = images.service(call);
  images.onRemoved = ({ name }) => {
    if (name === "nodelet.test/b:1")
      throw new OutsideError("io", "rpc error: code = Unknown desc = the disk is read-only");
  };
  const all = [...images.all.keys()];
  const result = await removeImages(service, all, new AbortController().signal);
  assert.deepEqual(result.left, ["image nodelet.test/b:1: the disk is read-only"]);
  assert.deepEqual(
    result.removed,
    all.filter((name) => name !== "nodelet.test/b:1").map((name) => `image ${name}`),
  );
});
