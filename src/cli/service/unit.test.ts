import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { parseLastExit } from "../../node/last-exit.ts";
import { DEFAULT_PLACES, upPaths } from "../up/paths.ts";
import { describeService, type ServiceKind, serviceFiles } from "./service.ts";
import { renderNodeUnit, renderUnit } from "./unit.ts";

const PLACES = { units: "/etc/systemd/system", program: "/opt/nodelet/bin/nodelet" };
const fileOf = (service: ServiceKind) => {
  const file = serviceFiles(service, PLACES).at(-1);
  assert.ok(file);
  return file;
};
const linesOf = (service: ServiceKind) => fileOf(service).text.split("\n");

test("serviceFiles: the agent of `nodelet up` with its configuration and its own API", () => {
  const { path, unit } = fileOf({ kind: "own", flags: [] });
  assert.equal(path, "/etc/systemd/system/nodelet.service");
  assert.equal(unit, "nodelet.service");
  const lines = linesOf({ kind: "own", flags: [], up: upPaths(DEFAULT_PLACES) });
  for (const line of [
    "Type=notify",
    "KillMode=process",
    "Delegate=yes",
    "OOMScoreAdjust=-999",
    "WatchdogSec=60",
    "MemoryHigh=1G",
    "MemoryMax=1280M",
    'Environment="NODELET_SOCKET=/run/nodelet/agent.sock"',
    "ExecStart=/opt/nodelet/bin/nodelet run --config=/etc/nodelet/config.yaml --root-dir=/var/lib/nodelet/kubelet",
    "WantedBy=multi-user.target",
  ])
    assert.ok(lines.includes(line), `${line} in\n${lines.join("\n")}`);
});

test("serviceFiles: kubeadm's unit keeps its variables, by a drop-in after kubeadm's own", () => {
  const { path, unit } = fileOf({ kind: "kubeadm" });
  assert.equal(path, "/etc/systemd/system/kubelet.service.d/20-nodelet.conf");
  assert.equal(unit, "kubelet.service");
  const lines = linesOf({ kind: "kubeadm" });
  assert.ok(lines.indexOf("ExecStart=") < lines.findIndex((line) => /^ExecStart=\//.test(line)));
  for (const line of [
    "ExecStart=/opt/nodelet/bin/nodelet run $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS",
    "EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env",
    "EnvironmentFile=-/etc/default/kubelet",
  ])
    assert.ok(lines.includes(line), line);
  assert.ok(!lines.some((line) => line.startsWith("[Install]")));
});

for (const [text, expected] of [
  ["--config=/a.yaml", "--config=/a.yaml"],
  ["a b", '"a b"'],
  ["$HOME", "$$HOME"],
  ["50%", "50%%"],
  ['say "hi"', '"say \\"hi\\""'],
  ["back\\slash", '"back\\\\slash"'],
] as const)
  test(`renderUnit: the word ${text} of the command`, () =>
    assert.ok(
      renderUnit({ command: ["/n", text], rootFolder: "/r" }).includes(
        `\nExecStart=/n ${expected}\n`,
      ),
    ));

test("renderUnit: nothing puts the agent into a mount namespace of its own", () => {
  const text = renderUnit({ command: ["/n"], rootFolder: "/r" });
  assert.doesNotMatch(
    text,
    /^(Protect(System|Home|Kernel|Proc|ControlGroups|Clock|Hostname)|Private(Tmp|Devices|Mounts|Network|Users)|ReadOnlyPaths|InaccessiblePaths|DynamicUser|RootDirectory|TemporaryFileSystem)/m,
  );
});

test("renderUnit: how the agent ended is noted as the next one reads it", () => {
  const text = renderUnit({ command: ["/n"], rootFolder: "/var/lib/kubelet" });
  const line = /^ExecStopPost=-\/bin\/sh -c "(.*)"$/m.exec(text)?.[1] ?? "";
  const script = line
    .replaceAll('\\"', '"')
    .replaceAll("$$", "$")
    .replaceAll("%%", "%")
    .replace(/ > '(.*)'$/, "");
  assert.match(text, / > '\/var\/lib\/kubelet\/nodelet\/last-exit'"$/m);
  const env = {
    ...process.env,
    SERVICE_RESULT: "watchdog",
    EXIT_CODE: "killed",
    EXIT_STATUS: "ABRT",
  };
  const { stdout } = spawnSync("/bin/sh", ["-c", script], { env, encoding: "utf8" });
  const { atMs = 0, ...exit } = parseLastExit(stdout) ?? {};
  assert.deepEqual(exit, { result: "watchdog", code: "killed", status: "ABRT" });
  assert.ok(Math.abs(Date.now() - atMs) < 60_000);
});

test("describeService: what systemctl show says, in words", () => {
  const shown =
    "ActiveState=active\nSubState=running\nMainPID=42\nStatusText=node a: running, 3 pods\nNRestarts=2\nResult=watchdog\n";
  assert.deepEqual(describeService(shown), [
    "state: active (running), process 42",
    "agent: node a: running, 3 pods",
    "restarts: 2, last end: watchdog",
  ]);
  assert.deepEqual(describeService(""), ["systemd does not answer"]);
});

const SUPERVISOR = {
  command: ["/opt/nodelet/node", "--flag", "/opt/nodelet/cli.cjs", "up", "--supervise"],
  env: { HOME: "/root" },
};

test("renderNodeUnit: the supervisor of a cluster's node, whose containers outlive it", () => {
  const lines = renderNodeUnit(SUPERVISOR, "unit").split("\n");
  for (const line of [
    "Description=nodelet, the Kubernetes node agent",
    "Type=exec",
    'Environment="HOME=/root"',
    "ExecStart=/opt/nodelet/node --flag /opt/nodelet/cli.cjs up --supervise",
    "Restart=always",
    "KillMode=process",
    "Delegate=yes",
    "StartLimitIntervalSec=0",
    "WantedBy=multi-user.target",
  ])
    assert.ok(lines.includes(line), `${line} in\n${lines.join("\n")}`);
  assert.equal(lines.filter((line) => line.startsWith("ExecStart=")).length, 1);
});

test("renderNodeUnit: as a drop-in it replaces the command of the unit, and leaves to that when it starts", () => {
  const lines = renderNodeUnit(SUPERVISOR, "drop-in").split("\n");
  const [first, second] = lines.filter((line) => line.startsWith("ExecStart="));
  assert.equal(first, "ExecStart=");
  assert.match(second ?? "", /--supervise$/);
  assert.ok(!lines.includes("[Install]"));
  assert.ok(!lines.some((line) => line.startsWith("Description=")));
});
