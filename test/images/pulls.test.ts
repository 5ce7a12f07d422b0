// Pulls: what is reported about them, when they are tried again, who waits for whom, whose credentials count.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ImageOutcome } from "../../src/api/image-outcome.ts";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import type { PullRequest } from "../../src/outside/cri/cri.ts";
import type { PullSecret } from "../../src/subsystems/images/images.ts";
import { ImageWorld, podOf, present } from "./world.ts";

const IMAGE = "nodelet.test/app:1";
const MINUTE = 60_000;

function refused(answer: ImageOutcome) {
  assert.equal(answer.kind, "refused", JSON.stringify(answer));
  return answer as Extract<ImageOutcome, { kind: "refused" }>;
}

const takes = (world: ImageWorld, ms: number) => {
  world.runtime.store.pullTakes = (_, signal) => world.clock.sleep(ms, signal);
};

test("a pull says how long it and the waiting before took, and how large the image is", async () => {
  const world = await new ImageWorld({ config: { serializeImagePulls: true } }).open();
  takes(world, 1_234.9);
  world.runtime.store.sizes.set(IMAGE, 42_000_000);
  const first = world.ensure(IMAGE);
  present(await first);
  assert.deepEqual(world.reported, [
    `Pulling Pulling image "${IMAGE}"`,
    `Pulled Successfully pulled image "${IMAGE}" in 1.234s (1.234s including waiting). Image size: 42000000 bytes.`,
  ]);
  present(await world.ensure(IMAGE));
  assert.equal(
    world.reported.at(-1),
    `Pulled Container image "${IMAGE}" already present on machine and can be accessed by the pod`,
  );
  assert.match(
    world.metrics.expose(),
    /kubelet_image_pull_duration_seconds_count\{image_size_in_bytes="10MB-100MB"\} 1/,
  );
});

test("events name the image as the pod does, the runtime gets the default tag", async () => {
  const world = await new ImageWorld().open();
  const pulled: string[] = [];
  world.runtime.store.onPull = ({ image }) => void pulled.push(image);
  present(await world.ensure("nodelet.test/app"));
  assert.deepEqual(pulled, ["nodelet.test/app:latest"]);
  assert.equal(world.reported[0], 'Pulling Pulling image "nodelet.test/app"');
});

test("what no waiting mends is refused with the Go kubelet's reasons", async () => {
  const world = await new ImageWorld().open();
  const name = refused(await world.ensure("Not A Name"));
  assert.deepEqual(
    [name.reason, name.message, name.retryInMs],
    [
      "InvalidImageName",
      `Failed to apply default image tag "Not A Name": couldn't parse image name "Not A Name": invalid reference format: repository name (library/Not A Name) must be lowercase`,
      60_000,
    ],
  );
  const never = refused(await world.ensure(IMAGE, { policy: "Never" }));
  assert.deepEqual(
    [never.reason, never.message],
    ["ErrImageNeverPull", `Container image "${IMAGE}" is not present with pull policy of Never`],
  );
  world.runtime.goDown();
  const inspect = refused(await world.ensure(IMAGE));
  assert.equal(inspect.reason, "ImageInspectError");
  assert.match(inspect.message, /^Failed to inspect image "nodelet\.test\/app:1": /);
});

for (const [error, reason, message] of [
  ["not found", "ErrImagePull", "not found"],
  [
    "rpc error: code = Unknown desc = RegistryUnavailable: too busy",
    "RegistryUnavailable",
    `image pull failed for ${IMAGE} because the registry is unavailable: too busy`,
  ],
  [
    "SignatureValidationFailed: no key",
    "SignatureValidationFailed",
    `image pull failed for ${IMAGE} because the signature validation failed: no key`,
  ],
] as const)
  test(`a pull that fails with "${error}" is ${reason}`, async () => {
    const world = await new ImageWorld().open();
    world.runtime.store.onPull = () => {
      throw new OutsideError("io", error);
    };
    const answer = refused(await world.ensure(IMAGE));
    assert.deepEqual([answer.reason, answer.message], [reason, message]);
    assert.equal(world.reported.at(-1), `Failed Failed to pull image "${IMAGE}": ${error}`);
    const next = refused(await world.ensure(IMAGE));
    assert.equal(next.reason, "ImagePullBackOff");
    assert.equal(next.message, `Back-off pulling image "${IMAGE}": ${reason}: ${message}`);
  });

test("back-off is 10 s, doubles up to 300 s, and is forgotten after 600 s", async () => {
  const world = await new ImageWorld().open();
  world.runtime.store.onPull = () => {
    throw new OutsideError("notFound", "not found");
  };
  const delays: number[] = [];
  for (let tries = 0; tries < 7; tries += 1) {
    assert.equal(refused(await world.ensure(IMAGE)).reason, "ErrImagePull");
    const waits = refused(await world.ensure(IMAGE));
    assert.equal(waits.reason, "ImagePullBackOff");
    delays.push(waits.retryInMs);
    await world.clock.advance(waits.retryInMs - 1);
    assert.equal(refused(await world.ensure(IMAGE)).reason, "ImagePullBackOff");
    await world.clock.advance(1);
  }
  assert.deepEqual(
    delays,
    [10, 20, 40, 80, 160, 300, 300].map((s) => s * 1000),
  );
  await world.clock.advance(10 * MINUTE + 1);
  refused(await world.ensure(IMAGE));
  assert.equal(refused(await world.ensure(IMAGE)).retryInMs, 10_000);
  const other = podOf(IMAGE, {}, "uid-2");
  assert.equal(refused(await world.ensure(IMAGE, { pod: other })).reason, "ErrImagePull");
});

test("who asks for the same image shares the pull, which outlives the first asker", async () => {
  const world = await new ImageWorld().open();
  takes(world, 10_000);
  let pulls = 0;
  world.runtime.store.onPull = () => {
    pulls += 1;
  };
  const leaving = new AbortController();
  const ask = (signal: AbortSignal) =>
    world.images.ensure(
      { pod: podOf(IMAGE), container: "c", image: IMAGE, policy: "IfNotPresent" },
      signal,
    );
  const first = ask(leaving.signal);
  const second = ask(world.signal);
  first.catch(() => {});
  await world.clock.advance(5_000);
  leaving.abort(new Error("the pod is gone"));
  await assert.rejects(first, /the pod is gone/);
  present(await world.run(second));
  assert.equal(pulls, 1);
});

test("a pull that loses a layer to a removal is asked for again, at once but not for ever", async () => {
  for (const [losses, kind] of [
    [2, "present"],
    [9, "refused"],
  ] as const) {
    const world = await new ImageWorld().open();
    let pulls = 0;
    world.runtime.store.onPull = () => {
      pulls += 1;
      if (pulls <= losses)
        throw new OutsideError("notFound", "parent snapshot sha256:c does not exist: not found");
    };
    assert.equal((await world.ensure(IMAGE)).kind, kind);
    assert.equal(pulls, Math.min(losses + 1, 4));
  }
});

test("a pull that nobody waits for any more is given up", async () => {
  const world = await new ImageWorld().open();
  let ended: unknown;
  world.runtime.store.pullTakes = async (_, signal) => {
    await world.clock.sleep(60 * MINUTE, signal).catch((error: unknown) => {
      ended = error;
      throw error;
    });
  };
  const leaving = new AbortController();
  const asked = world.images.ensure(
    { pod: podOf(IMAGE), container: "c", image: IMAGE, policy: "Always" },
    leaving.signal,
  );
  asked.catch(() => {});
  await world.clock.advance(1_000);
  leaving.abort(new Error("gone"));
  await assert.rejects(asked);
  await world.clock.advance(1);
  assert.match(String(ended), /no pod is waiting for image/);
});

test("a registry that stalls holds up its own lane only, and that not for ever", async () => {
  const config = { serializeImagePulls: true };
  const world = await new ImageWorld({ config }).open();
  world.runtime.store.pullTakes = async (image, signal) => {
    if (image.includes("stalls")) await world.clock.sleep(60 * MINUTE, signal);
  };
  const ask = (image: string) =>
    world.images.ensure(
      { pod: podOf(image), container: "c", image, policy: "Always" },
      world.signal,
    );
  void ask("nodelet.test/stalls:1").catch(() => {});
  await world.clock.advance(1_000);
  const sameLane = ask(IMAGE);
  const elsewhere = ask("elsewhere.test/app:1");
  assert.equal(refused(await world.run(elsewhere)).reason, "ErrImagePull", "it was tried at once");
  await world.clock.advance(30_000);
  const from = world.clock.monotonic();
  present(await world.run(sameLane));
  assert.equal(
    world.clock.monotonic() - from,
    29_000,
    "the stalled pull lent its place after 60 s",
  );
  assert.deepEqual(world.progress.slice(0, 2), [
    'Pulling image "nodelet.test/stalls:1" from nodelet.test',
    `Waiting to pull image "${IMAGE}": 1 pull from nodelet.test goes first`,
  ]);
  assert.ok(
    world.progress.includes('Pulling image "nodelet.test/stalls:1" from nodelet.test for 30s'),
  );
});

test("no more pulls run at once than the configuration allows", async () => {
  const config = { serializeImagePulls: false, maxParallelImagePulls: 2, registryPullQPS: 0 };
  const world = await new ImageWorld({ config }).open();
  let running = 0;
  let most = 0;
  world.runtime.store.pullTakes = async (_, signal) => {
    running += 1;
    most = Math.max(most, running);
    await world.clock.sleep(1_000, signal);
    running -= 1;
  };
  await Promise.all(
    Array.from({ length: 7 }, (_, at) => `nodelet.test/i${at}:1`)
      .map(async (image, at) => {
        const pod = podOf(image, {}, `uid-${at}`);
        await world.images.ensure({ pod, container: "c", image, policy: "Always" }, world.signal);
      })
      .concat(world.clock.advance(10_000)),
  );
  assert.equal(most, 2);
});

test("pulls beyond the rate fail, and back off", async () => {
  const config = { serializeImagePulls: false, registryPullQPS: 1, registryBurst: 2 };
  const world = await new ImageWorld({ config }).open();
  const reasons: string[] = [];
  for (let at = 0; at < 3; at += 1) {
    const answer = await world.ensure(`nodelet.test/i${at}:1`);
    reasons.push(answer.kind === "refused" ? answer.message : answer.kind);
  }
  assert.deepEqual(reasons, ["present", "present", "pull QPS exceeded"]);
  await world.clock.advance(1_000);
  present(await world.ensure("nodelet.test/i3:1"));
});

const secret = (name: string, password: string): PullSecret => ({
  uid: `uid-${name}`,
  namespace: "default",
  name,
  form: "config.json",
  content: JSON.stringify({ auths: { "nodelet.test": { username: name, password } } }),
});

/** A registry that accepts one of these passwords. */
function guarded(world: ImageWorld, ...passwords: readonly string[]): (string | undefined)[] {
  const tried: (string | undefined)[] = [];
  world.runtime.store.onPull = ({ auth }: PullRequest) => {
    const login = auth && "password" in auth ? auth : undefined;
    tried.push(login && `${login.username}:${login.password}`);
    if (!passwords.includes(login?.password ?? ""))
      throw new OutsideError("denied", "401 Unauthorized");
  };
  return tried;
}

const podWith = (uid: string, ...names: readonly string[]): IdentifiedPod =>
  podOf(IMAGE, { imagePullSecrets: names.map((name) => ({ name })) }, uid);

const VERIFIED = { imagePullCredentialsVerificationPolicy: "NeverVerifyPreloadedImages" } as const;

test("the pod's secrets are tried first, then the node's own; all errors are reported", async () => {
  const secrets = [secret("one", "wrong"), secret("two", "also wrong")];
  const world = await new ImageWorld({
    config: VERIFIED,
    pullSecrets: async () => ({ secrets, missing: ["three"] }),
  }).open();
  const node = { auths: { "nodelet.test": { auth: btoa("node:right") } } };
  await world.host.files.makeDirectory("/var/lib/kubelet", 0o755);
  await world.host.files.writeAtomic("/var/lib/kubelet/config.json", JSON.stringify(node), 0o600);
  const tried = guarded(world, "right");
  present(await world.ensure(IMAGE, { pod: podWith("uid-1", "one", "two", "three") }));
  assert.deepEqual(tried, ["one:wrong", "two:also wrong", "node:right"]);
  assert.doesNotMatch(
    world.reported.join(),
    /FailedToRetrieveImagePullSecret/,
    "a pull that works needs no secret",
  );
  present(await world.ensure(IMAGE, { pod: podWith("uid-2") }));
  assert.equal(tried.length, 3, "what the node pulled with its own credentials is everybody's");
});

test("an image that a secret has pulled is only for pods that have the secret", async () => {
  const world = await new ImageWorld({
    config: VERIFIED,
    pullSecrets: async ({ metadata }) => ({
      secrets:
        metadata?.uid === "owner"
          ? [secret("key", "right")]
          : metadata?.uid === "copy"
            ? [{ ...secret("key", "right"), uid: "uid-copy", namespace: "other" }]
            : [],
      missing: [],
    }),
  }).open();
  const tried = guarded(world, "right");
  present(await world.ensure(IMAGE, { pod: podWith("owner", "key") }));
  const otherPod = refused(await world.ensure(IMAGE, { pod: podWith("other-account") }));
  assert.deepEqual([otherPod.reason, otherPod.message], ["ErrImagePull", "401 Unauthorized"]);
  const never = refused(
    await world.ensure(IMAGE, { pod: podWith("other-account"), policy: "Never" }),
  );
  assert.deepEqual(
    [never.reason, never.message],
    ["ErrImageNeverPull", `Container image "${IMAGE}" is not present with pull policy of Never`],
    "whoever has no access does not learn that the image is there",
  );
  assert.equal(world.reported.at(-1), `${never.reason} ${never.message}`);
  const before = tried.length;
  await world.open();
  present(await world.ensure(IMAGE, { pod: podWith("owner", "key") }));
  present(await world.ensure(IMAGE, { pod: podWith("copy", "key") }));
  assert.equal(tried.length, before, "both were believed without asking the registry");
  assert.equal(
    refused(await world.ensure(IMAGE, { pod: podWith("other-account") })).reason,
    "ErrImagePull",
  );
});

test("the records are the Go kubelet's, and go with their image", async () => {
  const world = await new ImageWorld({
    config: VERIFIED,
    pullSecrets: async () => ({ secrets: [secret("key", "right")], missing: [] }),
  }).open();
  guarded(world, "right");
  const folder = "/var/lib/kubelet/image_manager";
  const filesIn = async (kind: string) =>
    ((await world.host.files.list(`${folder}/${kind}`)) ?? []).map(({ name }) => name);
  takes(world, 1_000);
  const asked = world.ensure(IMAGE, { pod: podWith("uid-1", "key") });
  present(await asked);
  assert.deepEqual(await filesIn("pulling"), []);
  const [file = ""] = await filesIn("pulled");
  const text =
    (await world.host.files.readText(`${folder}/pulled/${file}`, { maxBytes: 9999 })) ?? "";
  const { lastUpdatedTime, ...record } = JSON.parse(text) as Record<string, unknown>;
  assert.match(String(lastUpdatedTime), /^2026-01-01T00:00:0\dZ$/);
  assert.deepEqual(record, {
    kind: "ImagePulledRecord",
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    imageRef: `sha256:${IMAGE}`,
    credentialMapping: {
      "nodelet.test/app": {
        kubernetesSecrets: [
          {
            uid: "uid-key",
            namespace: "default",
            name: "key",
            // sha256 of {"username":"key","password":"right"}
            credentialHash: "6bd4072a6c08688f59d9dd2c273843c73138723f21c89c45317823d70ff1504b",
          },
        ],
      },
    },
  });
  await world.run(world.images.upkeep(false, world.signal));
  await world.clock.advance(3 * MINUTE);
  await world.run(world.images.deleteUnused(world.signal));
  assert.deepEqual(await filesIn("pulled"), []);
});

test("a pull that a previous run did not finish leaves an image that has to be asked for", async () => {
  const world = await new ImageWorld({ config: VERIFIED }).open();
  const tried = guarded(world, "right");
  await world.host.files.makeDirectory("/var/lib/kubelet/image_manager/pulling", 0o700);
  const intent = {
    kind: "ImagePullIntent",
    apiVersion: "kubelet.config.k8s.io/v1alpha1",
    image: IMAGE,
  };
  const path = `/var/lib/kubelet/image_manager/pulling/sha256-${"0".repeat(64)}`;
  await world.host.files.writeAtomic(path, JSON.stringify(intent), 0o600);
  world.runtime.store.add(IMAGE);
  world.runtime.store.add("nodelet.test/preloaded:1");
  await world.open();
  await world.run(world.images.list(world.signal));
  assert.equal(refused(await world.ensure(IMAGE)).reason, "ErrImagePull");
  present(await world.ensure("nodelet.test/preloaded:1"));
  assert.deepEqual(tried, [undefined]);
});
