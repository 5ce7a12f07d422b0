// A folder of manifests as people have them, on one machine: claims get volumes, and what cannot work says why.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { Kubectl, PROGRAMS, programOf } from "./kubectl.ts";

const program = PROGRAMS.map(programOf).findLast((path) => path !== undefined);
const skip = program === undefined ? "needs a kubectl from Debian" : false;
const WAIT_MS = 40_000 * TIMEOUT_FACTOR;
const VOLUMES = "/var/lib/nodelet/volumes";

const MANIFESTS = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {greeting: hello from a file}
---
apiVersion: v1
kind: Secret
metadata: {name: key}
stringData: {token: secret}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 64Mi}}
`;

/** Writes as another user than root, and serves. */
const pod = (name: string, port: number) => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: web
    image: localhost/nodelet/hello:1
    imagePullPolicy: Never
    command: [sh, -c, "[ -f /data/index.html ] || cp /etc/settings/greeting /data/index.html; exec httpd -f -p 8080 -h /data"]
    env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: key, key: token}}}]
    ports: [{containerPort: 8080, hostPort: ${port}}]
    readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
    volumeMounts:
    - {name: data, mountPath: /data}
    - {name: settings, mountPath: /etc/settings}
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: data}}
  - {name: settings, configMap: {name: settings}}
`;

const SERVICE = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`;

let node: NodeBox;
let kubectl: Kubectl;
const apply = (stdin: string, code = 0) => kubectl.run(["apply", "-f", "-"], { stdin, code });
const k = (...args: readonly string[]) => kubectl.run(args);

async function until(what: RegExp, ...args: readonly string[]): Promise<string> {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const reported = await k(...args).catch((error: Error) => error.message);
    if (what.test(reported)) return reported;
    assert.ok(performance.now() < deadline, `${args.join(" ")}: no ${what} in ${reported}`);
    await sleep(200);
  }
}

if (skip === false) {
  before(async () => {
    node = await bareMachine();
    kubectl = new Kubectl(node, program ?? "");
    await node.run("up", "--demo", "--detach", "--until-ready");
  });
  after(() => node[Symbol.asyncDispose]());
}

test("a claim gets a local volume, and its data survives the pod", { skip }, async () => {
  assert.match(
    await k("get", "storageclass"),
    /^local \(default\) +nodelet\.dev\/local +Delete +WaitForFirstConsumer/m,
  );
  await apply(MANIFESTS);
  assert.match(
    await until(/WaitForFirstConsumer/, "describe", "pvc", "data"),
    /^Status: +Pending$/m,
  );
  await apply(pod("web", 18080));
  await k("wait", "--for=condition=Ready", "pod/web", "--timeout=40s");
  assert.match(await k("get", "pvc", "data"), /^data +Bound +pvc-\S+ +64Mi +RWO +local/m);
  assert.match(await k("get", "pv"), /^pvc-\S+ +64Mi +RWO +Delete +Bound +default\/data +local/m);
  await k("exec", "web", "--", "sh", "-c", "id -u; echo changed >/data/index.html");

  // Held as long as the pod has it.
  await k("delete", "pvc", "data", "--wait=false");
  assert.match(await k("get", "pvc", "data"), /^data +Terminating/m);
  await k("delete", "pod", "web", "--wait=true");
  await until(/NotFound/, "get", "pvc", "data");
  await until(/No resources found/, "get", "pv");
  assert.deepEqual(readdirSync(node.box.path(VOLUMES)), []);

  // A folder of manifests, as people have them.
  await node.box.run(["mkdir", "/run/tmp/app"]);
  node.box.write("/run/tmp/app/objects.yaml", MANIFESTS);
  node.box.write("/run/tmp/app/web.yaml", pod("web", 18080));
  await k("apply", "-f", "/run/tmp/app");
  await k("wait", "--for=condition=Ready", "pod/web", "--timeout=40s");
  await k("exec", "web", "--", "sh", "-c", "echo again >/data/index.html");
  await k("delete", "pod", "web");
  await apply(pod("web", 18080));
  await k("wait", "--for=condition=Ready", "pod/web", "--timeout=40s");
  assert.match(await k("exec", "web", "--", "cat", "/data/index.html"), /^again$/m);
});

test("a port of the node is waited for, and who has it is reported", { skip }, async () => {
  await apply(pod("second", 18080));
  const why =
    /0\/1 nodes are available: 1 node\(s\) didn't have free ports for the requested pod ports \(18080\/TCP is held by pod default\/web\)\./;
  await until(why, "describe", "pod", "second");
  assert.match(await k("get", "pod", "second"), /Pending/);
  await k("delete", "pod", "web");
  await k("wait", "--for=condition=Ready", "pod/second", "--timeout=40s");
});

test("a claim that is not there is named", { skip }, async () => {
  await apply(pod("lost", 18081).replace("claimName: data", "claimName: nowhere"));
  await until(/persistentvolumeclaim "nowhere" not found/, "describe", "pod", "lost");
  await k("delete", "pod", "lost", "--now");
});

test("what this API does not have is explained", { skip }, async () => {
  assert.match(await apply(SERVICE), /Warning: this API keeps services for export only/);
  const template = {
    metadata: { labels: { a: "b" } },
    spec: { containers: [{ name: "c", image: "x" }] },
  };
  const deployment = JSON.stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d" },
    spec: { selector: { matchLabels: { a: "b" } }, template },
  });
  const answer =
    /this is the API of a single node, which runs pods and has no Deployment\. Apply its pod template as a Pod/;
  for (const each of PROGRAMS) {
    const path = programOf(each);
    if (path === undefined) continue;
    const other = new Kubectl(node, path);
    assert.match(await other.run(["apply", "-f", "-"], { stdin: deployment, code: 1 }), answer);
    assert.match(await other.run(["create", "deployment", "d", "--image=x"], { code: 1 }), answer);
    assert.match(await other.run(["get", "deployments"], { code: 1 }), answer);
    assert.match(
      await other.run(["create", "job", "j", "--image=x"], { code: 1 }),
      /no Job\. .*restartPolicy OnFailure or Never/,
    );
    assert.doesNotMatch(await other.run(["api-resources"]), /deployments/);
    assert.match(await other.run(["get", "all"]), /pod\/second/);
  }
});

test("a missing resolver of a cluster is reported once, and describe is as kubectl's", {
  skip,
}, async () => {
  const events = await k("get", "events", "-A");
  assert.equal(
    events.split("\n").filter((line) => /MissingClusterDNS/.test(line)).length,
    1,
    events,
  );
  const described = await node.run("describe", "pod", "second");
  assert.match(described, /spec\.containers\{web\}: Container started/);
  assert.doesNotMatch(described, /last-applied-configuration/);
});
