// An ordinary kubectl on a machine that `nodelet up` made a node: old and new, every command people use.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CACHE_DIR } from "../../tools/debian-suite.mjs";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { KUBECONFIG, Kubectl, PROGRAMS, programOf } from "./kubectl.ts";

/** In the box only; /tmp is the machine's, and another run may be there. */
const WEB_FILE = "/run/web.yaml";
const WEB = `
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 2
  dnsPolicy: Default
  containers:
  - name: main
    image: localhost/nodelet/hello:1
    imagePullPolicy: Never
    stdin: true
    command: [sh, -c, "mkdir /tmp/w; echo hi > /tmp/w/index.html; httpd -p 8081 -h /tmp/w; i=0; while true; do echo line $i; i=$((i+1)); sleep 1; done"]
    ports: [{containerPort: 8081}]
`;

async function talk(node: NodeBox, kubectl: Kubectl): Promise<void> {
  const k = (...args: readonly string[]) => kubectl.run(args);
  assert.match(await k("get", "nodes", "-o", "wide"), /Ready .*containerd:\/\/\d/);
  await node.box.exec(["sh", "-c", `cat > ${WEB_FILE}`], { stdin: WEB });
  assert.match(await k("apply", "-f", WEB_FILE), /pod\/web created/);
  assert.match(
    await k("wait", "--for=condition=Ready", "pod/web", "--timeout=30s"),
    /condition met/,
  );
  assert.match(await k("apply", "-f", WEB_FILE), /pod\/web unchanged/);
  assert.match(await k("get", "pods", "-o", "wide"), /^web +1\/1 +Running +0 +\d+s +10\.85\./m);
  const described = await kubectl.until(["describe", "pod", "web"], /Normal +Started .*kubelet/);
  assert.match(described, /^Status: +Running$/m);
  assert.match(described, /Normal +Scheduled .*default-scheduler/);
  assert.match(await k("get", "events"), /Started +pod\/web/);
  assert.match(await k("logs", "web", "--tail=1"), /^line \d+$/m);
  assert.match(await k("top", "nodes"), /^\S+ +\d+m +\d+% +[1-9]\d*Mi +\d+% *$/m);
  assert.match(await k("top", "pods", "--containers"), /^web +main +\d+m +\d+Mi *$/m);
  assert.match(await k("top", "pods", "-l", "app=web"), /^web +\d+m +\d+Mi *$/m);
  assert.match(await k("top", "pod", "web"), /^web +\d+m +\d+Mi *$/m);
  assert.match(await k("exec", "web", "--", "cat", "/tmp/w/index.html"), /^hi$/m);
  await kubectl.run(["exec", "web", "--", "sh", "-c", "exit 3"], { code: 3 });
  const echoed = await kubectl.run(["exec", "-i", "web", "--", "cat"], { stdin: "over and out\n" });
  assert.match(echoed, /over and out/);
  await k("cp", WEB_FILE, "web:/tmp/copy.yaml");
  assert.match(await k("exec", "web", "--", "tail", "-n1", "/tmp/copy.yaml"), /containerPort/);
  await follow(kubectl, ["logs", "-f", "web"], /line \d+\n[\s\S]*line \d+\n/);
  await follow(kubectl, ["attach", "web"], /line \d+\n/);
  await follow(kubectl, ["get", "pods", "-w"], /web +1\/1 +Running/);
  await forward(node, kubectl);
  await debugged(kubectl);
  assert.match(await k("label", "pod", "web", "tier=front"), /labeled/);
  assert.match(await k("get", "pods", "-l", "tier=front", "-o", "name"), /^pod\/web$/m);
  assert.match(await k("annotate", "pod", "web", "edited=no"), /annotated/);
  assert.match(await k("edit", "pod", "web"), /edited/);
  const edited = await k("get", "pod", "web", "-o", "jsonpath={.metadata.annotations.edited}");
  assert.match(edited, /^yes$/m);
  const patch = '[{"op":"remove","path":"/metadata/annotations/edited"}]';
  assert.match(await k("patch", "pod", "web", "--type=json", "-p", patch), /patched/);
  assert.match(
    await k("apply", "--server-side", "-f", WEB_FILE, "--force-conflicts"),
    /serverside-applied/,
  );
  assert.match(await k("create", "configmap", "settings", "--from-literal=a=b"), /created/);
  assert.match(await k("create", "secret", "generic", "key", "--from-literal=p=q"), /created/);
  assert.match(
    await k("get", "configmap,secret"),
    /configmap\/settings +1 [\s\S]*secret\/key +Opaque +1/,
  );
  const explained = (await k("explain", "pod.spec.containers.image")).replace(/\s+/g, " ");
  assert.match(explained, /DESCRIPTION: Container image name\. More info: https:/);
  assert.match(await k("explain", "pod.spec.affinity"), /Affinity is a group of affinity/);
  assert.match(await k("auth", "can-i", "delete", "nodes"), /yes/);
  await cordoned(node, kubectl);
  assert.match(await k("create", "namespace", "other"), /created/);
  assert.match(await k("delete", "namespace", "other", "--timeout=30s"), /deleted/);
  const refused = await kubectl.run(["apply", "--validate=false", "-f", "-"], {
    stdin:
      '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"Bad"},"spec":{"containers":[{"name":"x"}]}}',
    code: 1,
  });
  assert.match(refused, /Pod "Bad" is invalid: [\s\S]*metadata\.name: Invalid value: "Bad"/);
  const exported = await node.run("export");
  assert.match(exported, /kind: ConfigMap[\s\S]*name: settings[\s\S]*kind: Pod[\s\S]*name: web/);
  assert.doesNotMatch(exported, /resourceVersion|nodeName|kube-root-ca/);
  assert.match(await k("delete", "pod", "web"), /deleted/);
  await kubectl.run(["get", "pod", "web"], { code: 1 });
  assert.match(await k("delete", "configmap/settings", "secret/key"), /deleted/);
}

/** What kubectl has asked for over WebSockets that the agent translates. */
async function translatedStreams(kubectl: Kubectl): Promise<readonly string[]> {
  const [, name = ""] = /^(\S+) +Ready/m.exec(await kubectl.run(["get", "nodes"])) ?? [];
  const metrics = await kubectl.run(["get", "--raw", `/api/v1/nodes/${name}/proxy/metrics`]);
  const counted = metrics.matchAll(
    /^kubelet_websocket_streaming_requests_total\{subresource="(\w+)"\} [1-9]/gm,
  );
  return [...counted].map(([, subresource = ""]) => subresource).toSorted();
}

/** Pages of the agent that are asked for through the API: logs of the node, its state, its flags. */
async function nodePages(kubectl: Kubectl): Promise<void> {
  const [, name = ""] = /^(\S+) +Ready/m.exec(await kubectl.run(["get", "nodes"])) ?? [];
  const page = (path: string) =>
    kubectl.run(["get", "--raw", `/api/v1/nodes/${name}/proxy/${path}`]);
  assert.match(await page("logs/"), /<a href="pods\/">pods\/<\/a>/);
  assert.match(await page("statusz"), /kubelet statusz[\s\S]*Binary version: 1\.37/);
  assert.match(await page("flagz"), /\nport=\d+\n/);
}

/** Nothing is given to a node that is cordoned, and the reason is shown; after uncordon it is. */
async function cordoned(node: NodeBox, kubectl: Kubectl): Promise<void> {
  const [, name = ""] = /^(\S+) +Ready/m.exec(await kubectl.run(["get", "nodes"])) ?? [];
  await kubectl.run(["cordon", name]);
  const image = "--image=localhost/nodelet/hello:1";
  await kubectl.run(["run", "waiting", image, "--image-pull-policy=Never", "--restart=Never"]);
  await kubectl.until(["get", "events"], /FailedScheduling .*were unschedulable/);
  await kubectl.run(["uncordon", name]);
  await kubectl.run(["wait", "--for=condition=Ready", "pod/waiting", "--timeout=30s"]);
  await kubectl.run(["delete", "pod", "waiting", "--now"]);
  assert.equal((await node.nodelet(["get", "pods"])).code, 0);
}

/** A container beside those of the pod, made and inspected. */
async function debugged(kubectl: Kubectl): Promise<void> {
  const image = ["--image=localhost/nodelet/hello:1", "--image-pull-policy=Never"];
  await kubectl.run([
    "debug",
    "web",
    ...image,
    "-c",
    "debugger",
    "--",
    "sh",
    "-c",
    "echo seen; sleep 600",
  ]);
  const path = "jsonpath={.status.ephemeralContainerStatuses[0].state.running.startedAt}";
  await kubectl.until(["get", "pod", "web", "-o", path], /\d{4}-/);
  assert.match(await kubectl.run(["logs", "web", "-c", "debugger"]), /^seen$/m);
  assert.match(await kubectl.run(["exec", "web", "-c", "debugger", "--", "hostname"]), /^web$/m);
}

/** Runs a command without end until it has reported what is expected. */
async function follow(kubectl: Kubectl, args: readonly string[], expected: RegExp): Promise<void> {
  const process = kubectl.spawn(args);
  let text = "";
  for (const stream of [process.stdout, process.stderr])
    stream?.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
    });
  const deadline = performance.now() + 30_000;
  while (!expected.test(text)) {
    assert.ok(performance.now() < deadline, `kubectl ${args.join(" ")} printed only: ${text}`);
    await sleep(50);
  }
  await process.kill("SIGKILL");
  kubectl.transcript.push(
    `$ kubectl ${args.join(" ")}`,
    text.trimEnd().split("\n").slice(0, 4).join("\n"),
    "^C",
  );
}

async function forward(node: NodeBox, kubectl: Kubectl): Promise<void> {
  const process = kubectl.spawn(["port-forward", "pod/web", "18081:8081"]);
  const deadline = performance.now() + 30_000;
  for (;;) {
    const { code, stdout } = await node.box.exec([
      "busybox",
      "wget",
      "-qO-",
      "http://127.0.0.1:18081/index.html",
    ]);
    if (code === 0) {
      assert.equal(stdout, "hi\n");
      break;
    }
    assert.ok(performance.now() < deadline, "the forwarded port does not answer");
    await sleep(100);
  }
  await process.kill("SIGKILL");
}

for (const version of PROGRAMS) {
  const program = programOf(version);
  const skip =
    program === undefined
      ? `needs kubectl ${version.name} from Debian (cache: ${CACHE_DIR})`
      : false;
  test(`kubectl ${version.name} works against a node without a cluster`, { skip }, async () => {
    await using node = await bareMachine();
    // The demo brings an image that pods can run.
    await node.run("up", "--demo", "--detach", "--until-ready");
    const kubectl = new Kubectl(node, program ?? "");
    try {
      await talk(node, kubectl);
      // Those before 1.29 speak SPDY only; newer ones fall back to it where WebSockets are refused.
      const translated = version.name === "1.20" ? [] : ["attach", "exec", "portforward"];
      assert.deepEqual(await translatedStreams(kubectl), translated);
      await nodePages(kubectl);
    } finally {
      if (process.env["NODELET_TRANSCRIPT"]) console.log(kubectl.transcript.join("\n"));
    }
    await node.run("down");
    assert.equal(
      (await node.box.exec(["test", "-e", "/var/lib/nodelet/api"])).code,
      1,
      "down leaves nothing of the API",
    );
  });
}

for (const program of PROGRAMS)
  test(`kubectl ${program.name} exec -it has a terminal`, async (context) => {
    const path = programOf(program);
    if (path === undefined) {
      context.skip(`kubectl ${program.name} is not to be had here`);
      return;
    }
    await using node = await bareMachine();
    await node.run("up", "--demo", "--detach", "--until-ready");
    const pods = await node.run("get", "pods", "-o", "name");
    const pod = pods.trim().split("/").at(-1) ?? "";
    const line = `exec env KUBECONFIG=${KUBECONFIG} HOME=/root ${path} exec -it ${pod} -- sh`;
    const shell = node.startOnTerminal(line);
    await shell.reported(/\/ [$#] /);
    shell.type("tty; echo sum $((40 + 2))\n");
    await shell.reported(/\/dev\/pts\/\d+/);
    await shell.reported(/sum 42/);
    shell.type("exit 5\n");
    assert.equal((await shell.process.exited).code, 5);
  });
