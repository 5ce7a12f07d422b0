import assert from "node:assert/strict";
import { test } from "node:test";
import { kubeadmFailures, kubeadmStep } from "./kubeadm-output.ts";

for (const [line, step] of [
  [
    '[certs] Generating "ca" certificate and key',
    { phase: "certs", text: 'Generating "ca" certificate and key' },
  ],
  [
    "[kubelet-check] The kubelet is healthy after 1s",
    { phase: "kubelet-check", text: "The kubelet is healthy after 1s" },
  ],
  ["\t[WARNING Swap]: swap is supported", undefined],
  ["Your Kubernetes control-plane has initialized successfully!", undefined],
  ["", undefined],
] as const)
  test(`kubeadmStep: ${line}`, () => assert.deepEqual(kubeadmStep(line), step));

const PREFLIGHT = `[init] Using Kubernetes version: v1.37.2
[preflight] Running pre-flight checks
[preflight] Some fatal errors occurred:
	[ERROR Port-6443]: Port 6443 is in use
	[ERROR DirAvailable--var-lib-etcd]: /var/lib/etcd is not empty
	[ERROR NumCPU]: the number of available CPUs 1 is less than the required 2
	[ERROR FileContent--proc-sys-net-ipv4-ip_forward]: /proc/sys/net/ipv4/ip_forward contents are not set to 1
	[ERROR SomethingNew]: what nobody knows yet
[preflight] If you know what you are doing, you can make a check non-fatal with \`--ignore-preflight-errors=...\`
error: error execution phase preflight: preflight checks failed
To see the stack trace of this error execute with --v=5 or higher
`;

test("kubeadmFailures: each check of the preflight that failed, with its fix", () =>
  assert.deepEqual(kubeadmFailures(PREFLIGHT), [
    {
      problem: "Port 6443 is in use",
      fix: "stop what listens on port 6443: ss -ltnp 'sport = :6443'",
    },
    {
      problem: "/var/lib/etcd is not empty",
      fix: "it is the data of an earlier cluster: keep a copy if you need it, then remove its content",
    },
    {
      problem: "the number of available CPUs 1 is less than the required 2",
      fix: "give the machine two CPUs, or pass --ignore-preflight-errors=NumCPU",
    },
    {
      problem: "/proc/sys/net/ipv4/ip_forward contents are not set to 1",
      fix: "set the kernel's value: sysctl -w net.ipv4.ip_forward=1",
    },
    {
      problem: "what nobody knows yet",
      fix: "pass --ignore-preflight-errors=SomethingNew if that is meant to be so",
    },
  ]));

test("kubeadmFailures: a later phase is named", () =>
  assert.deepEqual(
    kubeadmFailures(
      "[wait-control-plane] Waiting\n\nerror: error execution phase wait-control-plane: failed while waiting for the kubelet to start: x\nTo see the stack trace\n",
    ),
    [
      {
        problem:
          "kubeadm failed in its phase wait-control-plane: failed while waiting for the kubelet to start: x",
        fix: "",
      },
    ],
  ));

test("kubeadmFailures: without any of that its last line counts", () => {
  assert.deepEqual(kubeadmFailures("unknown flag: --x\n\n"), [
    { problem: "unknown flag: --x", fix: "" },
  ]);
  assert.deepEqual(kubeadmFailures(""), [{ problem: "kubeadm printed nothing", fix: "" }]);
});

for (const [text, fix] of [
  [
    'a Node with name "two" and status "Ready" already exists in the cluster. You must delete it',
    "give this machine another host name, or remove the other one: kubectl delete node NAME",
  ],
  [
    'error downloading certs: error downloading the secret: Secret "kubeadm-certs" was not found in the "kube-system" Namespace',
    "kubeadm init phase upload-certs --upload-certs on a control plane prints a new --certificate-key",
  ],
] as const)
  test(`kubeadmFailures: what to do about ${text.slice(0, 40)}…`, () =>
    assert.deepEqual(kubeadmFailures(`error: error execution phase x: ${text}\n`), [
      { problem: `kubeadm failed in its phase x: ${text}`, fix },
    ]));

test("kubeadmFailures: the reason may stand in a paragraph of its own", () =>
  assert.deepEqual(
    kubeadmFailures(
      "error: error execution phase preflight: \nOne or more conditions is not satisfied.\n\nunable to add a new control plane instance to a cluster that doesn't have a stable controlPlaneEndpoint address\n",
    ),
    [
      {
        problem:
          "kubeadm failed in its phase preflight: One or more conditions is not satisfied. unable to add a new control plane instance to a cluster that doesn't have a stable controlPlaneEndpoint address",
        fix: "the cluster's first control plane needs --control-plane-endpoint from its beginning",
      },
    ],
  ));
