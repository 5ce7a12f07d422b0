import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterConfig } from "../kubelet.ts";
import { parseBenchOptions } from "../options.ts";
import type { BenchResult } from "../result.ts";
import { renderClusterReport } from "./cluster-report.ts";
import type { ClusterRound, PodGroup, RequestCounts } from "./cluster-result.ts";
import {
  baselineOf,
  CLUSTER_TARGETS,
  judgeCluster,
  missedClusterTargets,
  ratiosTo,
} from "./cluster-targets.ts";
import { addRequests, countRequests, requestsOfPods, totalOf } from "./requests.ts";

const USER = "system:node:n";

/** A line of an audit log. */
function line(auditID: string, verb: string, resource: string | undefined, more: object = {}) {
  const objectRef = resource === undefined ? {} : { objectRef: { resource, ...more } };
  const requestURI = "/version?timeout=32s";
  return JSON.stringify({ auditID, verb, requestURI, user: { username: USER }, ...objectRef });
}

test("countRequests counts each request of the user once, by verb and resource", () => {
  const foreign = line("6", "get", "pods").replace(USER, "admin");
  const log = [
    line("1", "watch", "pods"),
    line("2", "patch", "pods", { subresource: "status" }),
    line("3", "patch", "pods", { subresource: "status" }),
    line("4", "create", "events"),
    line("5", "get", undefined),
    foreign,
    line("1", "watch", "pods"),
  ].join("\n");
  const expected = {
    "watch pods": 1,
    "patch pods/status": 2,
    "create events": 1,
    "get /version": 1,
  };
  assert.deepEqual(countRequests(`${log}\n`, USER), expected);
  assert.deepEqual(countRequests(`${log}\n{"auditID":"7","ve`, USER), expected);
  assert.deepEqual(countRequests("", USER), {});
});

test("requestsOfPods leaves out what the node asks for itself", () => {
  const counts: RequestCounts = {
    "update leases": 3,
    "patch nodes/status": 1,
    "patch pods/status": 2,
    "get pods": 1,
    "create serviceaccounts/token": 1,
  };
  assert.deepEqual(requestsOfPods(counts), {
    "patch pods/status": 2,
    "get pods": 1,
    "create serviceaccounts/token": 1,
  });
  assert.equal(totalOf(requestsOfPods(counts)), 4);
  assert.deepEqual(addRequests([counts, { "get pods": 4 }])["get pods"], 5);
});

test("clusterConfig has no manifests, bounds requests alike and lets in who has a certificate", () => {
  for (const minor of [20, 36]) {
    const config = clusterConfig(minor, "/ca.crt");
    assert.equal("staticPodPath" in config || "readOnlyPort" in config, false);
    assert.deepEqual(
      [config["kubeAPIQPS"], config["kubeAPIBurst"], config["eventRecordQPS"]],
      [50, 100, 50],
    );
    assert.deepEqual(config["authentication"], {
      x509: { clientCAFile: "/ca.crt" },
      anonymous: { enabled: false },
      webhook: { enabled: false },
    });
  }
});

test("parseBenchOptions knows --cluster", () => {
  assert.equal(parseBenchOptions([]).cluster, false);
  assert.equal(parseBenchOptions(["--cluster"]).cluster, true);
});

/** A round in which every figure is `scale` times that of scale 1. */
function aRound(scale: number, pods = 50): ClusterRound {
  const steady = {
    pods,
    seconds: 15,
    cpuMilli: 60 * scale,
    wakings: 10 * scale,
    elsewhereCores: 0.1,
    rssMib: 100 * scale,
    anonymousMib: 40 * scale,
  };
  const group = (count: number): PodGroup => ({
    readyMs: Array.from({ length: count }, (_, i) => (i + 1) * 10 * scale),
    goneMs: Array(count).fill(2000 * scale),
    startCpuMs: 30 * count * scale,
    stopCpuMs: 20 * count * scale,
    requests: { "patch pods/status": 10 * count * scale, "update leases": 1 },
    steady,
  });
  return {
    floorMs: [80, 90, 100],
    startUpMs: 900 * scale,
    steady: [{ ...steady, pods: 0 }],
    idleRequests: { "update leases": 3 },
    first: group(1),
    singles: Array(3).fill(group(1)),
    probed: group(pods),
    again: group(pods),
    plain: group(pods),
  };
}

function aResult(own: readonly ClusterRound[], its: readonly ClusterRound[]) {
  const result: BenchResult<ClusterRound> = {
    format: 1,
    startedAt: "2026-01-02T03:04:05.000Z",
    endedAt: "2026-01-02T03:14:05.000Z",
    machine: {
      cpus: 2,
      cpuModel: "Some CPU",
      memoryGib: 24,
      kernel: "6.1",
      node: "v26",
      runtime: "containerd 1.6",
      loadBefore: 0.1,
      loadAfter: 3,
    },
    options: { rounds: own.length, pods: 50, singles: 3, idleSeconds: 30, probes: false },
    subjects: [
      { label: "nodelet", version: "v1.36.2+nodelet.1", isNodelet: true, rounds: own },
      { label: "go", version: "v1.20.2", isNodelet: false, rounds: its },
    ],
  };
  return result;
}

test("ratios are taken within each round", () => {
  const { subjects } = aResult([aRound(1), aRound(4)], [aRound(2), aRound(4)]);
  const [own, its] = subjects;
  assert.ok(own && its);
  assert.equal(baselineOf(subjects), its);
  assert.deepEqual(
    ratiosTo(its, own, (round) => round.startUpMs),
    [0.5, 1],
  );
  assert.equal(baselineOf([own]), undefined);
  assert.deepEqual(
    ratiosTo(undefined, own, (round) => round.startUpMs),
    [],
  );
});

test("judgeCluster: the median of the ratios decides, exactly the limit is kept", () => {
  const verdicts = (scale: number, pods = 50) => {
    const { subjects } = aResult([aRound(scale, pods)], [aRound(1, pods)]);
    const [own, its] = subjects;
    assert.ok(own && its);
    return new Map(judgeCluster(its, own).map(({ target, met }) => [target.name, met]));
  };
  for (const { name, limit } of CLUSTER_TARGETS) {
    assert.equal(verdicts(limit * 0.99).get(name), true, name);
    assert.equal(verdicts(limit * 1.01).get(name), false, name);
  }
  assert.equal(verdicts(9, 5).get("pods at once with probes, last"), undefined);
});

test("missedClusterTargets names what nodelet missed, and nothing beside another nodelet", () => {
  const result = aResult([aRound(1)], [aRound(1)]);
  assert.equal(missedClusterTargets(result).length, CLUSTER_TARGETS.length);
  assert.deepEqual(missedClusterTargets(aResult([aRound(0.05)], [aRound(1)])), []);
  const subjects = result.subjects.map((subject) => ({ ...subject, isNodelet: true }));
  assert.deepEqual(missedClusterTargets({ ...result, subjects }), []);
});

test("renderClusterReport shows figures, ratios, requests and every target", () => {
  const text = renderClusterReport(aResult([aRound(0.5)], [aRound(1)]));
  assert.match(text, /× is the ratio to go of the same round/);
  assert.match(text, /^ {2}create → Ready, last, ms +250 +×0\.50 +500$/m);
  assert.match(text, /^ {2}CPU until Ready, for each, ms +15\.0 +×0\.50 +30\.0$/m);
  assert.match(text, /^ {2}patch pods\/status +5\.00 +10\.0$/m);
  assert.match(text, /^ {2}update leases +12\.0 +12\.0$/m);
  assert.match(text, /^requests for a pod's life +≤ 0\.6 × +0\.50 met$/m);
  assert.match(text, /^pods without probes at rest, CPU +≤ 0\.1 × +0\.50 NOT MET$/m);
  const alone = aResult([aRound(1)], []);
  const single = renderClusterReport({ ...alone, subjects: alone.subjects.slice(0, 1) });
  assert.doesNotMatch(single, /≤/);
});
