import assert from "node:assert/strict";
import { test } from "node:test";
import { assertGolden } from "../../../test/cli/golden.ts";
import { plainPaint } from "../../present/text.ts";
import { type Check, judgeMachine, type MachineReport } from "./checks.ts";
import { renderChecks } from "./render-checks.ts";

const GIB = 1024 ** 3;
const ALL_RIGHTS = (1n << 41n) - 1n;

function report(changes: Partial<MachineReport> = {}): MachineReport {
  return {
    uid: 0,
    capabilities: ALL_RIGHTS,
    kernelVersion: "6.1.0-18-amd64",
    overlayProblem: undefined,
    cgroups: { version: 2, controllers: new Set(["cpu", "memory", "pids"]) },
    swapBytes: 0,
    takenPorts: [],
    disk: { path: "/var/lib/nodelet", availableBytes: 60 * GIB, capacityBytes: 100 * GIB },
    missing: [],
    nodeName: { name: "edge-1" },
    ownAgent: undefined,
    otherKubelets: [],
    runtime: {
      kind: "found",
      socket: "/run/containerd/containerd.sock",
      version: "containerd 2.3.2",
      deprecations: [],
    },
    runtimeVersions: { containerd: "2.3.2", runc: "1.4.0" },
    ociRuntimes: { found: ["crun", "runc"], chosen: undefined },
    socketObstacle: undefined,
    ...changes,
  };
}

const own = (changes: Partial<Extract<MachineReport["runtime"], { kind: "own" }>> = {}) =>
  ({
    kind: "own",
    socket: "/run/x.sock",
    running: false,
    notUsing: undefined,
    ...changes,
  }) as const;

test("`judgeMachine` of a machine that is fit: nothing to complain about", () => {
  assert.deepEqual(
    judgeMachine(report()).filter(({ level, fix }) => level !== "ok" || fix !== ""),
    [],
  );
});

const VECTORS: readonly (readonly [
  name: string,
  changes: Partial<MachineReport>,
  check: string,
  level: Check["level"],
  reported: RegExp,
])[] = [
  ["a user", { uid: 1000 }, "user", "fail", /user id 1000 .*sudo/],
  [
    "no right to mount",
    { capabilities: ALL_RIGHTS & ~(1n << 21n) },
    "rights",
    "fail",
    /CAP_SYS_ADMIN/,
  ],
  [
    "no right to protect",
    { capabilities: ALL_RIGHTS & ~(1n << 24n) },
    "rights",
    "warn",
    /CAP_SYS_RESOURCE/,
  ],
  ["an old kernel", { kernelVersion: "4.4.0" }, "kernel", "warn", /4\.4\.0 .*4\.19/],
  ["a kernel of the oldest kind", { kernelVersion: "4.19.0" }, "kernel", "ok", /4\.19\.0/],
  [
    "no overlays",
    { overlayProblem: "wrong fs type" },
    "kernel",
    "warn",
    /wrong fs type .*full copies/,
  ],
  [
    "no cgroups",
    { cgroups: { version: undefined, why: "none mounted" } },
    "cgroups",
    "fail",
    /none mounted/,
  ],
  [
    "no memory controller",
    { cgroups: { version: 2, controllers: new Set(["cpu"]) } },
    "cgroups",
    "fail",
    /version 2 without memory .*cgroup_enable=memory/,
  ],
  [
    "cgroups of old",
    { cgroups: { version: 1, controllers: new Set(["cpu", "memory"]) } },
    "cgroups",
    "warn",
    /version 1.*no pids controller/,
  ],
  ["swap", { swapBytes: 2 * GIB }, "swap", "warn", /2 GiB on .*failSwapOn: false/],
  [
    "missing programs",
    {
      missing: [
        { program: "ctr", debian: "containerd" },
        { program: "containerd", debian: "containerd" },
        { program: "runc", debian: "runc" },
      ],
    },
    "programs",
    "fail",
    /missing: ctr, containerd, runc .*apt-get install --no-install-recommends containerd runc,/,
  ],
  [
    "no containerd",
    { runtime: own() },
    "containerd",
    "ok",
    /none is running, nodelet starts its own/,
  ],
  [
    "its own containerd",
    { runtime: own({ running: true }) },
    "containerd",
    "ok",
    /nodelet's own at/,
  ],
  [
    "an unusable containerd",
    { runtime: own({ notUsing: "it runs a pod of another agent" }) },
    "containerd",
    "ok",
    /starts its own; the one that was found is not used: it runs a pod/,
  ],
  [
    "a containerd 1",
    {
      runtime: { kind: "found", socket: "/s", version: "containerd 1.7.24", deprecations: [] },
      runtimeVersions: { containerd: "1.7.24" },
    },
    "containerd",
    "warn",
    /^containerd 1\.7\.24 at \/s containerd 1\.x works with Kubernetes up to 1\.37; 1\.38 needs/,
  ],
  [
    "a containerd 1 to be started",
    { runtime: own(), runtimeVersions: { containerd: "1.6.20~ds1" } },
    "containerd",
    "warn",
    /nodelet starts its own \(1\.6\.20~ds1\) containerd 1\.x works/,
  ],
  [
    "a containerd with a setting that is deprecated",
    {
      runtime: {
        kind: "found",
        socket: "/s",
        version: "containerd 2.3.2",
        deprecations: ["The `mirrors` property is deprecated since containerd v1.5"],
      },
    },
    "deprecated",
    "warn",
    /^The `mirrors` property is deprecated since containerd v1\.5 a later containerd will not/,
  ],
  [
    "two OCI runtimes",
    { runtime: own() },
    "OCI runtimes",
    "ok",
    /^crun, runc; the default is crun if it can run a container $/,
  ],
  [
    "a choice of the OCI runtime",
    { runtime: own(), ociRuntimes: { found: ["crun", "runc"], chosen: "runc" } },
    "OCI runtimes",
    "ok",
    /the default is runc/,
  ],
  [
    "an OCI runtime that is not installed",
    { runtime: own(), ociRuntimes: { found: ["runc"], chosen: "youki" } },
    "OCI runtimes",
    "fail",
    /youki is not installed install it, or choose runc$/,
  ],
  [
    "an OCI runtime for another's containerd",
    { ociRuntimes: { found: ["runc"], chosen: "runc" } },
    "OCI runtimes",
    "fail",
    /not nodelet's own set default_runtime_name .*--containerd own$/,
  ],
  [
    "a containerd that was named and does not do",
    { runtime: { kind: "refused", socket: "/s", why: "nothing listens there", fix: "start it" } },
    "containerd",
    "fail",
    /\/s: nothing listens there start it/,
  ],
  [
    "a long path",
    { runtime: own(), socketObstacle: "too long" },
    "containerd",
    "fail",
    /too long .*--run-dir/,
  ],
  [
    "a containerd and a runc without fixes",
    { runtimeVersions: { containerd: "1.6.5", runc: "1.1.5+ds1" } },
    "runtime CVEs",
    "warn",
    /containerd 1\.6\.5: CVE-2022-31030, CVE-2026-47262, CVE-2026-53488; runc 1\.1\.5\+ds1: CVE-2025-31133, CVE-2025-52565, CVE-2025-52881 update to containerd 1\.7\.33 and runc 1\.2\.8,/,
  ],
  [
    "a containerd with many vulnerabilities",
    { runtimeVersions: { containerd: "2.1.0" } },
    "runtime CVEs",
    "warn",
    /CVE-2026-50195 and 2 more update to containerd 2\.1\.9,/,
  ],
  [
    "versions without known vulnerabilities",
    {},
    "runtime CVEs",
    "ok",
    /^containerd 2\.3\.2, runc 1\.4\.0: none known $/,
  ],
  ["no runtime yet", { runtimeVersions: {} }, "runtime CVEs", "ok", /^no version known $/],
  ["its own agent", { ownAgent: 71 }, "other agents", "ok", /this node's own \(process 71\)/],
  ["its own agent's ports", { ownAgent: 71 }, "ports", "ok", /in use by this node/],
  ["a kubelet", { otherKubelets: ["kubelet (71)"] }, "other agents", "fail", /kubelet \(71\)/],
  [
    "a bad name",
    { nodeName: { problem: "not lower case" } },
    "node name",
    "fail",
    /not lower case .*hostnamectl/,
  ],
  [
    "a taken port",
    { takenPorts: [{ port: 10248, setting: "healthzPort", holder: "nginx (9)" }] },
    "ports",
    "fail",
    /10248 is taken by nginx \(9\) .*healthzPort/,
  ],
  [
    "a full disk",
    { disk: { path: "/v", availableBytes: 100 * 1024 ** 2, capacityBytes: GIB } },
    "disk",
    "fail",
    /100 MiB of 1 GiB free at \/v .*200 MiB are needed/,
  ],
  [
    "a disk that will be full soon",
    { disk: { path: "/v", availableBytes: 9 * GIB, capacityBytes: 100 * GIB } },
    "disk",
    "warn",
    /evicts pods/,
  ],
];

for (const [name, changes, check, level, reported] of VECTORS)
  test(`\`judgeMachine\` of a machine with ${name}`, () => {
    const found = judgeMachine(report(changes)).find((each) => each.name === check);
    assert.equal(found?.level, level);
    assert.match(`${found?.found} ${found?.fix}`, reported);
  });

test("`judgeMachine` reports nothing more to a user without permission", () => {
  assert.equal(judgeMachine(report({ uid: 1000 })).length, 1);
});

test("`renderChecks` shows a fix below what needs one, and the sum", () => {
  const checks = judgeMachine(
    report({ swapBytes: 2 * GIB, otherKubelets: ["kubelet (71)"], runtime: own() }),
  );
  assertGolden("checks.txt", `${renderChecks(checks, plainPaint).join("\n")}\n`);
});
