// Marked secrets in every input of a node, and a search for them in all that its agent writes and serves.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { KUBECONFIG, Kubectl, PROGRAMS, programOf } from "./kubectl.ts";

const IMAGE = "localhost/nodelet/hello:1";
const WAIT_MS = 40_000 * TIMEOUT_FACTOR;
const CONFIG = "/etc/nodelet/config.yaml";

/** One for each way in. Long enough to be found once only. */
const MARKS = {
  secret: "marked-secret-3f0b1c5d9e",
  pull: "marked-pull-password-77ac01",
  bearer: "marked-bearer-token-5512fe",
  header: "marked-url-header-90bd1e",
  url: "marked-url-password-c0ffee",
  env: "marked-proxy-password-1a2b3c",
} as const;

const program = PROGRAMS.map(programOf).findLast((path) => path !== undefined);
const skip = program === undefined ? "needs a kubectl from Debian" : false;

let node: NodeBox;
let kubectl: Kubectl;
/** What must be nowhere: each mark as it is and as base64, and what was made on the way. */
const wanted: string[] = Object.values(MARKS).flatMap((mark) => [mark, btoa(mark)]);

const pod = (name: string, spec: object) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { terminationGracePeriodSeconds: 1, dnsPolicy: "Default", ...spec },
});

/** Serves a pod, refuses, and breaks off, in turn. */
const manifests = () => `let asked = 0;
  require("node:http").createServer((request, answer) => {
    asked += 1;
    if (asked % 3 === 1) answer.end(${JSON.stringify(JSON.stringify(FROM_URL))});
    else if (asked % 3 === 2) answer.writeHead(500).end();
    else request.socket.destroy();
  }).listen(5998, "127.0.0.1");`;

const FROM_URL = pod("from-url", {
  containers: [{ name: "c", image: IMAGE, imagePullPolicy: "Never", command: ["sleep", "1000"] }],
});

const OBJECTS = [
  { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { key: MARKS.secret } },
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "registry" },
    type: "kubernetes.io/dockerconfigjson",
    stringData: {
      ".dockerconfigjson": JSON.stringify({
        auths: { "127.0.0.1:5999": { username: "joe", password: MARKS.pull } },
      }),
    },
  },
  pod("uses", {
    containers: [
      {
        name: "c",
        image: IMAGE,
        imagePullPolicy: "Never",
        command: ["sh", "-c", "cat /s/key; echo; exec sleep 1000"],
        env: [{ name: "KEY", valueFrom: { secretKeyRef: { name: "s", key: "key" } } }],
        volumeMounts: [{ name: "s", mountPath: "/s" }],
        livenessProbe: { exec: { command: ["sh", "-c", 'test "$KEY" = wrong'] } },
      },
    ],
    volumes: [{ name: "s", secret: { secretName: "s" } }],
  }),
  pod("pulls", {
    imagePullSecrets: [{ name: "registry" }],
    containers: [{ name: "c", image: "127.0.0.1:5999/private:1", imagePullPolicy: "Always" }],
  }),
];

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, `never: ${what}`);
    await sleep(200);
  }
}

before(async () => {
  if (skip !== false) return;
  node = await bareMachine();
  kubectl = new Kubectl(node, program ?? "");
  const up = (...flags: readonly string[]) =>
    node.box.run([`${import.meta.dirname}/../../bin/nodelet`, "up", "--detach", ...flags], {
      env: { HTTPS_PROXY: `http://joe:${MARKS.env}@127.0.0.1:5997` },
      timeoutMs: 90_000,
    });
  await up("--demo", "--until-ready");
  await node.run("stop");
  node.box.spawn([process.execPath, "-e", manifests()]);
  const text = readFileSync(node.box.path(CONFIG), "utf8");
  node.box.write(
    CONFIG,
    `${text}staticPodURL: http://joe:${MARKS.url}@127.0.0.1:5998/pods?token=${MARKS.url}
staticPodURLHeader: { Authorization: ["Bearer ${MARKS.header}"] }
httpCheckFrequency: 1s
logging: { verbosity: 9 }
`,
  );
  await up("--until-ready").catch((error: unknown) => {
    const log = readFileSync(node.box.path("/var/log/nodelet/agent.log"), "utf8");
    throw new Error(log.slice(-4_000), { cause: error });
  });
  await kubectl.run(["apply", "-f", "-"], {
    stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items: OBJECTS }),
  });
  const events = async () => await kubectl.run(["get", "events"]);
  await until("the pod uses the secret", async () =>
    (await kubectl.run(["logs", "uses"]).catch(() => "")).includes(MARKS.secret),
  );
  await until("a pull fails", async () => /Failed to pull image/.test(await events()));
  await until("a probe fails", async () => /Unhealthy/.test(await events()));
  const token = (await kubectl.run(["create", "token", "default"])).trim();
  // The end of it is the signature, without which the rest is worth nothing.
  wanted.push(token.slice(-40));
  await kubectl
    .run(["auth", "can-i", "list", "pods", `--token=${token}`], { code: 1 })
    .catch(() => {});
  await kubectl.run(["get", "pods", `--token=${MARKS.bearer}`]).catch(() => {});
  const { users } = JSON.parse(readFileSync(node.box.path(KUBECONFIG), "utf8")) as {
    users: readonly { user: { "client-key-data": string } }[];
  };
  const key = users[0]?.user["client-key-data"] ?? "";
  wanted.push(key.slice(80, 140), atob(key).split("\n")[1]?.slice(0, 40) ?? "");
  assert.ok(
    wanted.every((each) => each.length >= 20),
    wanted.join(),
  );
});
after(() => node?.[Symbol.asyncDispose]());

const patterns = () => wanted.flatMap((each) => ["-e", each]);

/** Whose purpose it is to hold them: objects, keys, what is mounted into containers, what the runtime received. */
const KEEPERS =
  /\/(var\/lib|run)\/nodelet\/containerd\/|\/api\/objects\.db|\/api\/pki\/|\/etc\/nodelet\/(kubeconfig|config\.yaml)|node\.kubeconfig|\/kubelet\/pods\/[^/]+\/(volumes|volume-subpaths)\/|\/var\/log\/pods\/default_uses_/;

test("nothing that the agent writes holds a secret, but for what is there to hold it", {
  skip,
}, async () => {
  const script =
    'grep -rlaF "$@" /run/nodelet /var/lib/nodelet /var/log /etc/nodelet 2>/dev/null; exit 0';
  const found = await node.box.run(["sh", "-c", script, "grep", ...patterns()], {
    timeoutMs: 60_000,
  });
  const files = found.split("\n").filter((path) => path !== "");
  assert.ok(
    files.some((path) => path.endsWith("objects.db") || /objects\.db/.test(path)),
    found,
  );
  assert.deepEqual(
    files.filter((path) => !KEEPERS.test(path)),
    [],
  );
  const log = readFileSync(node.box.path("/var/log/nodelet/agent.log"), "utf8");
  assert.match(log, /127\.0\.0\.1:5998/, "the failed request for manifests is in the log");
});

const ROUTES = [
  ..."overview pods events?history=true decisions?limit=5000 problems state-files probes devices"
    .split(" ")
    .map((path) => `/nodelet/v1/${path}`),
  ..."images cgroups eviction".split(" ").map((path) => `/nodelet/v1/${path}`),
  "/pods",
  "/runningpods/",
  "/configz",
  "/healthz?verbose",
  "/stats/summary",
  "/metrics",
  "/metrics/probes",
  "/metrics/resource",
  "/metrics/cadvisor",
];

/** What the configuration holds; `/configz` needs the right to read it and shows it, as the Go kubelet's does. */
const CONFIGURED: ReadonlySet<string> = new Set([MARKS.header, MARKS.url]);

test("nothing that the agent serves holds a secret, but for the configuration itself", {
  skip,
}, async () => {
  const socket = node.box.path("/run/nodelet/agent.sock");
  const { request } = await import("node:http");
  for (const path of ROUTES) {
    const body = await new Promise<string>((resolve, reject) => {
      const headers = { authorization: `Bearer ${MARKS.bearer}` };
      const asked = request({ socketPath: socket, path, headers, agent: false }, (answer) => {
        let text = "";
        answer.on("data", (chunk: Buffer) => {
          text += chunk.toString();
        });
        answer.once("end", () => resolve(text));
      });
      asked.once("error", reject);
      asked.end();
    });
    assert.ok(body.length > 0, path);
    for (const each of wanted) {
      const shown = path === "/configz" && CONFIGURED.has(each);
      assert.equal(body.includes(each), shown, `${path} and ${each}`);
    }
  }
});

test("no command shows a secret that was not asked for", { skip }, async () => {
  const commands = [
    ..."get pods|get nodes|get problems|describe pod uses|describe pod pulls|why uses|why pulls".split(
      "|",
    ),
    ..."why --node|events|probes|devices|images".split("|"),
  ];
  for (const command of commands) {
    const { stdout, stderr } = await node.nodelet(command.split(" "));
    for (const each of wanted)
      assert.ok(!`${stdout}${stderr}`.includes(each), `nodelet ${command} shows ${each}`);
  }
  for (const kind of ["pods", "events", "nodes"]) {
    const shown = await kubectl.run(["get", kind, "-A", "-o", "yaml"]);
    for (const each of wanted) assert.ok(!shown.includes(each), `${kind} show ${each}`);
  }
});
