// Edits of manifests with a UID of their own, in a folder and at a URL, and a file that is made again, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf } from "./programs.ts";
import { MANIFESTS, World } from "./world.ts";

const URL = "http://manifests.test/pods";
const UID = "0bb9a4e6-3cf3-4f0a-9d0c-8b5f4f1f0a11";

interface Edit {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly image?: string;
  readonly env?: string;
}

const textOf = ({
  name = "web",
  labels = {},
  image = "nodelet.test/nodelet-test:1",
  env = "",
}: Edit) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      uid: UID,
      labels,
      resourceVersion: "7",
      creationTimestamp: "2020-01-01T00:00:00Z",
    },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "main",
          image,
          command: commandOf({ kind: "sleep" }),
          env: [{ name: "EDIT", value: env }],
        },
      ],
    },
    status: { phase: "Failed", startTime: "2020-01-01T00:00:00Z" },
  });

async function start(source: "file" | "url") {
  const config = source === "url" ? { staticPodURL: URL } : {};
  const world = new World(5, {}, { config });
  let body = textOf({});
  world.net.http = async () => ({ kind: "response", status: 200, body, redirectedAway: false });
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  const edit = async (to: Edit) => {
    body = textOf(to);
    if (source === "file")
      await world.host.files.writeAtomic(`${MANIFESTS}/web.json`, textOf(to), 0o644);
    await world.advance(60_000);
  };
  await edit({});
  world.startAgent();
  await world.advance(60_000);
  /** Ids of sandbox and running containers, and the pod with its status. */
  const now = () => {
    const found = world.agent?.pipeline.statuses.list() ?? [];
    assert.deepEqual(
      found.map(({ uid }) => uid),
      [UID],
    );
    const sandboxes = [...world.runtime.sandboxes.values()].filter(({ ready }) => ready);
    const running = [...world.runtime.containers.values()].filter(
      ({ state }) => state === "running",
    );
    assert.deepEqual([sandboxes.length, running.length], [1, 1]);
    const [{ pod, status } = assert.fail()] = found;
    return { pod, status, sandbox: sandboxes[0]?.id, container: running[0] };
  };
  return { world, edit, now };
}

for (const source of ["file", "url"] as const) {
  test(`a manifest with its own UID follows every edit (${source})`, async () => {
    const { edit, now } = await start(source);
    const first = now();
    assert.equal(first.status.phase, "Running");
    assert.ok((first.status.startTime ?? "") > "2020-01-02", "another life of the pod began then");
    assert.equal(first.pod.metadata?.creationTimestamp, undefined);

    await edit({ labels: { edited: "yes" } });
    assert.deepEqual(now().pod.metadata?.labels, { edited: "yes" });
    assert.equal(now().container?.id, first.container?.id);

    await edit({ image: "nodelet.test/nodelet-test:2" });
    const second = now();
    assert.notEqual(second.container?.id, first.container?.id);
    assert.equal(second.sandbox, first.sandbox, "an image is exchanged in place");

    await edit({ env: "new" });
    const third = now();
    assert.notEqual(third.sandbox, first.sandbox);
    const edited = third.container?.config.envs?.find(({ key }) => key === "EDIT");
    assert.equal(new TextDecoder().decode(edited?.value), "new");

    await edit({ env: "new", name: "other" });
    assert.equal(now().pod.metadata?.name, "other-sim");
    assert.notEqual(now().sandbox, third.sandbox);
  });
}

test("a file that is deleted and made again at once restarts its pod, and only then", async () => {
  const { world, edit, now } = await start("file");
  const first = now();
  await edit({});
  assert.equal(now().sandbox, first.sandbox, "saved unchanged");
  const path = `${MANIFESTS}/web.json`;
  for (let restarts = 1; restarts <= 2; restarts += 1) {
    const before = now();
    await world.host.files.remove(path);
    await world.host.files.append(path, textOf({}), 0o644);
    await world.advance(60_000);
    assert.notEqual(now().sandbox, before.sandbox);
    assert.equal(now().status.containerStatuses?.[0]?.restartCount, restarts);
  }
});
