// Volumes out of objects of a real API server, seen from inside the containers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiServerObstacle } from "../kube/apiserver.ts";
import { PODS, podOf, withNode } from "../kube/cluster-node.ts";
import { podTraces } from "../support/agent.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { configMap, DEFAULT, eventTexts, secret, started } from "./objects.ts";
import { insideOf, staying } from "./world.ts";

const LINES = 2000;

const skip = apiServerObstacle() ?? false;
test("config maps and secrets as files: keys, items, modes, group, read-only", { skip }, () =>
  withNode(async (node, box) => {
    const inside = insideOf(box, async () => node.pod("pod").then((pod) => pod?.status));
    const { server } = node;
    await server.must("POST", `${DEFAULT}/configmaps`, configMap("settings", { a: "1", b: "2" }));
    await server.must("POST", `${DEFAULT}/secrets`, secret("keys", { key: "geheim" }));
    const before = await podTraces(box);
    await started(node, {
      securityContext: { fsGroup: 4242, runAsUser: 1000 },
      volumes: [
        { name: "c", configMap: { name: "settings", items: [{ key: "a", path: "x/y/a" }] } },
        { name: "s", secret: { secretName: "keys", defaultMode: 0o400 } },
        { name: "o", secret: { secretName: "nothing", optional: true } },
        { name: "e", emptyDir: {} },
      ],
      containers: [
        staying("main", {
          volumeMounts: [
            { name: "c", mountPath: "/c" },
            { name: "s", mountPath: "/s" },
            { name: "o", mountPath: "/o" },
            { name: "e", mountPath: "/e" },
            { name: "c", mountPath: "/one", subPath: "x/y/a" },
          ],
        }),
      ],
    });
    assert.equal(await inside("cat /c/x/y/a /s/key /one; ls /c /o"), "1geheim1/c:\nx\n\n/o:\n");
    assert.match(await inside("stat -L -c '%a %g' /s/key; id -G"), /^440 4242\n1000 .*\b4242\n$/);
    assert.match(
      await inside("touch /e/mine; stat -c '%g %A' /e /e/mine"),
      /^4242 drwxrwsrwx\n4242 /,
    );
    assert.match(await inside("touch /c/z 2>&1 || true"), /Read-only file system/);
    assert.match(await inside("grep ' /s ' /proc/self/mounts"), /^tmpfs \/s tmpfs ro/);
    await server.kubectl(["delete", "pod", "pod", "--wait=false"]);
    await node.agent.until("nothing is left", async () => {
      return JSON.stringify(await podTraces(box)) === JSON.stringify(before);
    });
  }),
);

test("updates reach the container within 5 s; 1,000 of them are never seen torn", { skip }, () =>
  withNode(async (node, box) => {
    const inside = insideOf(box, async () => node.pod("pod").then((pod) => pod?.status));
    const { server } = node;
    const body = (n: number) => configMap("settings", { a: `${n}\n`.repeat(LINES) });
    await server.must("POST", `${DEFAULT}/configmaps`, body(0));
    await server.must("POST", `${DEFAULT}/secrets`, secret("keys", { key: "0" }));
    await started(node, {
      volumes: [
        { name: "c", configMap: { name: "settings" } },
        { name: "s", secret: { secretName: "keys" } },
      ],
      containers: [
        staying("main", {
          volumeMounts: [
            { name: "c", mountPath: "/c" },
            { name: "s", mountPath: "/s" },
          ],
        }),
      ],
    });
    const put = (n: number) => server.must("PUT", `${DEFAULT}/configmaps/settings`, body(n));
    await server.must("PUT", `${DEFAULT}/secrets/keys`, secret("keys", { key: "1" }));
    const began = performance.now();
    await node.agent.until(
      "the secret is seen",
      async () => (await inside("cat /s/key")) === "1",
      5_000,
    );
    console.log(`a secret's change was seen after ${Math.round(performance.now() - began)} ms`);
    // Reads whole files all the time: LINES lines, each with the same number.
    const whole = `NR==1{f=$0} $0!=f{bad=1} END{exit !(NR==${LINES} && !bad)}`;
    await inside(
      `(reads=0; bad=0
       while [ ! -e /tmp/stop ]; do
         busybox awk '${whole}' /c/a || bad=$((bad+1)); reads=$((reads+1))
       done; echo "$reads $bad" >/tmp/result) </dev/null >/tmp/words 2>&1 &`,
    );
    for (let n = 1; n <= 1000; n += 1) await put(n);
    const last = () => inside("busybox head -1 /c/a");
    await node.agent.until("the last is seen", async () => (await last()) === "1000\n", 5_000);
    await inside("touch /tmp/stop");
    const result = () => inside("cat /tmp/result 2>/dev/null || true");
    await node.agent.until("the reader has ended", async () => (await result()) !== "");
    const [reads = 0, bad] = (await result()).trim().split(" ").map(Number);
    console.log(`${reads} reads during 1,000 updates: ${bad} torn or missing`);
    assert.ok(reads > 100, `only ${reads} reads`);
    assert.equal(bad, 0, await inside("head -5 /tmp/words"));
    const names = (await inside("ls -a /c")).split("\n").filter((name) => name.startsWith("..2"));
    assert.equal(names.length, 1, "one payload is left");
  }),
);

test("a pod waits for its objects and starts as soon as they are there", { skip }, () =>
  withNode(async (node, box) => {
    const inside = insideOf(box, async () => node.pod("pod").then((pod) => pod?.status));
    const { server } = node;
    await server.must(
      "POST",
      PODS,
      podOf("pod", {
        volumes: [{ name: "c", configMap: { name: "late" } }],
        containers: [staying("main", { volumeMounts: [{ name: "c", mountPath: "/c" }] })],
      }),
    );
    const text =
      'FailedMount: MountVolume.SetUp failed for volume "c" : configmap "late" not found';
    await node.agent.until("it says what is missing", async () =>
      (await eventTexts(node)).includes(text),
    );
    await server.must("POST", `${DEFAULT}/configmaps`, configMap("late", { a: "here" }));
    const ms = await node.untilReady("pod");
    assert.ok(ms < 5_000 * TIMEOUT_FACTOR, `${ms} ms after the object was made`);
    assert.equal(await inside("cat /c/a"), "here");
  }),
);

test(
  "projected tokens: of the pod's account, for the audience, known by the API server, renewed",
  { skip },
  () =>
    withNode(async (node, box) => {
      const inside = insideOf(box, async () => node.pod("pod").then((pod) => pod?.status));
      const { server } = node;
      await server.must("POST", `${DEFAULT}/serviceaccounts`, { metadata: { name: "robot" } });
      await server.must("POST", `${DEFAULT}/configmaps`, configMap("ca", { "ca.crt": "CA" }));
      const token = (path: string, audience?: string) => ({
        serviceAccountToken: { path, expirationSeconds: 600, ...(audience ? { audience } : {}) },
      });
      await started(node, {
        serviceAccountName: "robot",
        securityContext: { runAsUser: 1000 },
        volumes: [
          {
            name: "p",
            projected: {
              sources: [
                token("token"),
                token("vault/token", "vault"),
                { configMap: { name: "ca", items: [{ key: "ca.crt", path: "ca.crt" }] } },
                {
                  downwardAPI: {
                    items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }],
                  },
                },
              ],
            },
          },
        ],
        containers: [staying("main", { volumeMounts: [{ name: "p", mountPath: "/p" }] })],
      });
      assert.equal(
        await inside("cat /p/ca.crt /p/namespace; ls /p"),
        "CAdefaultca.crt\nnamespace\ntoken\nvault\n",
      );
      assert.equal(await inside("stat -L -c '%a %u' /p/token"), "600 1000\n");
      const claims = async (path: string) => {
        const text = await inside(`cat ${path}`);
        return JSON.parse(Buffer.from(text.split(".")[1] ?? "", "base64url").toString()) as {
          readonly sub: string;
          readonly aud: readonly string[];
          readonly "kubernetes.io": { readonly pod: { readonly uid: string } };
        };
      };
      const pod = await node.pod("pod");
      const own = await claims("/p/token");
      assert.equal(own.sub, "system:serviceaccount:default:robot");
      assert.equal(own["kubernetes.io"].pod.uid, pod?.metadata?.uid);
      assert.deepEqual((await claims("/p/vault/token")).aud, ["vault"]);
      const review = await server.must<{ status: { user: { username: string } } }>(
        "POST",
        "/apis/authentication.k8s.io/v1/tokenreviews",
        { spec: { token: await inside("cat /p/token") } },
      );
      assert.equal(review.status.user.username, "system:serviceaccount:default:robot");
    }),
);

test(
  "labels and annotations in files follow the pod; a restart of the agent without the API changes nothing",
  { skip },
  () =>
    withNode(async (node, box) => {
      const inside = insideOf(box, async () => node.agent.status());
      const { server } = node;
      await server.must("POST", `${DEFAULT}/secrets`, secret("keys", { key: "1" }));
      const items = [{ path: "note", fieldRef: { fieldPath: "metadata.annotations['note']" } }];
      await started(node, {
        volumes: [
          { name: "d", downwardAPI: { items } },
          { name: "s", secret: { secretName: "keys" } },
        ],
        containers: [
          staying("main", {
            volumeMounts: [
              { name: "d", mountPath: "/d" },
              { name: "s", mountPath: "/s" },
            ],
          }),
        ],
      });
      await server.kubectl(["annotate", "pod", "pod", "note=first"]);
      await node.agent.until(
        "it is seen",
        async () => (await inside("cat /d/note")) === "first",
        5_000,
      );
      const stamped = await inside("readlink /s/..data");
      await node.agent.kill();
      await server.kill();
      await node.agent.start();
      assert.equal(await inside("cat /s/key; readlink /s/..data"), `1${stamped}`);
      await server.start();
      await server.must("PUT", `${DEFAULT}/secrets/keys`, secret("keys", { key: "2" }));
      await node.agent.until(
        "the change is seen",
        async () => (await inside("cat /s/key")) === "2",
        30_000,
      );
      assert.equal(node.agent.status()?.containerStatuses?.[0]?.restartCount, 0);
    }),
);

test("a claim's local volume is the folder of the node, with the group asked for", { skip }, () =>
  withNode(async (node, box) => {
    const inside = insideOf(box, async () => node.pod("pod").then((pod) => pod?.status));
    const { server } = node;
    const before = await podTraces(box);
    await box.run([
      "sh",
      "-c",
      "mkdir -p /var/lib/disk/one; echo kept >/var/lib/disk/one/f; chmod 600 /var/lib/disk/one/f",
    ]);
    const storage = {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "local",
    };
    const key = "kubernetes.io/hostname";
    const matchExpressions = [{ key, operator: "Exists" }];
    await server.must("POST", `${DEFAULT}/persistentvolumeclaims`, {
      metadata: { name: "data" },
      spec: {
        storageClassName: "local",
        accessModes: ["ReadWriteOnce"],
        volumeName: "pv1",
        resources: { requests: { storage: "1Gi" } },
      },
    });
    const claim = await server.must<{ metadata: { uid: string } }>(
      "GET",
      `${DEFAULT}/persistentvolumeclaims/data`,
    );
    await server.must("POST", "/api/v1/persistentvolumes", {
      metadata: { name: "pv1" },
      spec: {
        ...storage,
        local: { path: "/var/lib/disk/one" },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
        claimRef: { namespace: "default", name: "data", uid: claim.metadata.uid },
      },
    });
    // There is no controller that would bind them.
    await server.must("PUT", `${DEFAULT}/persistentvolumeclaims/data/status`, {
      ...claim,
      status: { phase: "Bound" },
    });
    await started(node, {
      securityContext: { fsGroup: 4242, fsGroupChangePolicy: "OnRootMismatch" },
      volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }],
      containers: [staying("main", { volumeMounts: [{ name: "v", mountPath: "/v" }] })],
    });
    assert.equal(await inside("cat /v/f; stat -c '%a %g' /v/f"), "kept\n660 4242\n");
    await inside("echo written >/v/g");
    await server.kubectl(["delete", "pod", "pod", "--wait=false"]);
    await node.agent.until("nothing is left", async () => {
      return JSON.stringify(await podTraces(box)) === JSON.stringify(before);
    });
    assert.equal(
      await box.run(["cat", "/var/lib/disk/one/f", "/var/lib/disk/one/g"]),
      "kept\nwritten\n",
    );
  }),
);
