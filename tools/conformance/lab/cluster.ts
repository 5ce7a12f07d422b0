/** A cluster for the cluster suite: two machines on one wire, a stock control plane on the first, and a kubelet on each. */
import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Node } from "../../../src/api/generated/types.ts";
import type { Box } from "../../../test/box/box.ts";
import { cniConfig } from "../../../test/box/containerd.ts";
import { NODE } from "../../../test/box/outer.ts";
import type { ApiServer } from "../../../test/kube/apiserver.ts";
import { conditionOf } from "../../../test/kube/cluster-node.ts";
import { addons, DNS_ADDRESS } from "./addons.ts";
import { POD_RANGE, START_LIMIT_MS, startControlPlane } from "./control-plane.ts";
import { RUNTIME_GROUP, startMachine } from "./machine.ts";
import type { LabParts, SuiteLab } from "./suite-lab.ts";
import { joinWire } from "./wire.ts";

const NODES = [
  { name: "node-1", address: NODE.address },
  { name: "node-2", address: "198.51.100.11" },
] as const;
const CA_FILE = "/etc/kubernetes/ca.crt";
const KUBECONFIG = "/etc/kubernetes/kubelet.kubeconfig";
const CONFIG_FILE = "/etc/kubernetes/kubelet.yaml";
/** For pods, without a search domain: no name server here knows that such names do not exist, and `dig +search` stops at a refusal. */
const RESOLV_CONF = "/etc/kubernetes/resolv.conf";
/** What kubeadm gives to nodes, and what cgroup v1 asks for. */
const KUBELET_CONFIG = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
failCgroupV1: false
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
clusterDomain: cluster.local
clusterDNS: [${DNS_ADDRESS}]
staticPodPath: /etc/kubernetes/manifests
resolvConf: ${RESOLV_CONF}
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: ${CA_FILE}}}
authorization: {mode: Webhook}
serializeImagePulls: false
logging: {verbosity: 3}
`;
const POLL_MS = 500;
const LOGS = /^(?:box|containerd|kubelet|control-plane-.*)\.log$/;

interface Member {
  readonly name: string;
  readonly machine: Box;
}

/** Two nodes and their control plane. */
class ClusterLab implements SuiteLab {
  readonly members: readonly Member[];
  readonly box: Box;
  readonly folder: string;
  readonly suite = "e2e.test";
  readonly #server: ApiServer;
  readonly #kubectl: string;

  constructor(members: readonly Member[], server: ApiServer, kubectl: string) {
    const [first] = members;
    if (first === undefined) throw new Error("a cluster needs a node");
    this.members = members;
    this.box = first.machine;
    this.folder = join(first.machine.folder, "suite");
    this.#server = server;
    this.#kubectl = kubectl;
  }

  suiteArguments(reports: string): readonly string[] {
    return [
      `--report-dir=${reports}`,
      "--provider=skeleton",
      `--kubeconfig=${this.#server.adminKubeconfig}`,
      `--kubectl-path=${this.#kubectl}`,
      `--num-nodes=${this.members.length}`,
      "--minStartupPods=0",
      "--prepull-images=false",
      "--disable-log-dump",
      "--dns-domain=cluster.local",
    ];
  }

  logs() {
    return this.members.flatMap(({ name, machine }) => {
      const files = machine.logFiles().filter((file) => LOGS.test(file));
      return files.map((file) => [`${name}-${file}`, join(machine.folder, file)] as const);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.members.map(({ machine }) => machine.dispose()));
  }
}

/** Makes a cluster and waits until its nodes are Ready and its DNS answers; between its steps it heeds the signal. */
export async function startCluster(parts: LabParts, signal: AbortSignal): Promise<SuiteLab> {
  const members: Member[] = [];
  try {
    for (const { name, address } of NODES)
      members.push({
        name,
        machine: await startMachine(parts, { hostname: name, address, network: false }),
      });
    return await assemble(members, parts, signal);
  } catch (error) {
    const logs = members.map(({ name, machine }) => `=== ${name}\n${machine.logs()}`).join("\n");
    for (const { machine } of members) await machine.dispose();
    signal.throwIfAborted();
    throw new Error(`the cluster did not start\n${logs}`, { cause: error });
  }
}

async function assemble(
  members: readonly Member[],
  parts: LabParts,
  signal: AbortSignal,
): Promise<ClusterLab> {
  const { program } = parts;
  const machines = members.map(({ machine }) => machine);
  const [first] = machines;
  if (first === undefined) throw new Error("a cluster needs a node");
  await joinWire(machines);
  const server = await startControlPlane(first, program);
  signal.throwIfAborted();
  const lab = new ClusterLab(members, server, program("kubectl"));
  mkdirSync(lab.folder);
  for (const name of ["ginkgo", lab.suite]) copyFileSync(program(name), join(lab.folder, name));
  for (const member of members) await startKubelet(member, server, parts.kubelet);
  await connectPods(members, server, signal);
  const objects = JSON.stringify(addons({ apiServer: server.url, podRange: POD_RANGE }));
  await server.kubectl(["apply", "-f", "-"], { stdin: objects, timeoutMs: START_LIMIT_MS });
  await until("pods and nodes are ready", () => isReady(server, members.length), signal);
  return lab;
}

/** Starts the kubelet of a machine, by the name of the Go kubelet and with its flags. */
async function startKubelet(
  { name, machine }: Member,
  server: ApiServer,
  kubelet: string,
): Promise<void> {
  const program = join(machine.folder, "kubelet");
  symlinkSync(kubelet, program);
  await machine.run(["mkdir", "-p", "/etc/kubernetes/manifests"]);
  machine.write(CA_FILE, server.caPem);
  machine.write(KUBECONFIG, readFileSync(await server.nodeKubeconfig(name)));
  machine.write(CONFIG_FILE, KUBELET_CONFIG);
  machine.write(RESOLV_CONF, `nameserver ${NODE.gateway}\n`);
  const names = NODES.map((node) => `${node.address} ${node.name}\n`).join("");
  machine.write("/etc/hosts", `127.0.0.1 localhost\n${names}`);
  machine.spawnLogged(
    "kubelet",
    [
      program,
      `--config=${CONFIG_FILE}`,
      `--kubeconfig=${KUBECONFIG}`,
      `--hostname-override=${name}`,
      `--node-ip=${machine.nodeAddress}`,
      `--runtime-cgroups=${RUNTIME_GROUP}`,
    ],
    { env: { NODELET_NODE: process.execPath } },
  );
}

/** As a network add-on does: each node's pods have the addresses that its object has, and others have a route to them. */
async function connectPods(
  members: readonly Member[],
  server: ApiServer,
  signal: AbortSignal,
): Promise<void> {
  for (const { name, machine } of members) {
    let subnet = "";
    const hasRange = async () => {
      subnet = (await read<Node>(server, `/api/v1/nodes/${name}`)).spec?.podCIDR ?? "";
      return subnet !== "";
    };
    await until(`${name} has addresses for pods`, hasRange, signal);
    for (const other of members.filter((each) => each.name !== name))
      await other.machine.run(["ip", "route", "add", subnet, "via", machine.nodeAddress]);
    const config = cniConfig({ ipv6: false, subnet, masquerade: false });
    machine.write("/etc/cni/net.d/10-box.conflist", config);
  }
}

/** Whether kube-proxy runs on every node, CoreDNS runs, and the nodes are Ready. */
async function isReady(server: ApiServer, nodes: number): Promise<boolean> {
  const apps = "/apis/apps/v1/namespaces/kube-system";
  const { status: proxy } = await read<Counts>(server, `${apps}/daemonsets/kube-proxy`);
  const { status: dns, spec } = await read<Counts>(server, `${apps}/deployments/coredns`);
  const { items } = await read<{ items: readonly Node[] }>(server, "/api/v1/nodes");
  return (
    proxy?.numberReady === nodes &&
    dns?.readyReplicas === spec?.replicas &&
    items.every((node) => conditionOf(node, "Ready") === "True")
  );
}

interface Counts {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly numberReady?: number; readonly readyReplicas?: number };
}

function read<T>(server: ApiServer, path: string): Promise<T> {
  return server.must<T>("GET", path);
}

/** A machine that does much else may answer late, or not this time. */
async function until(
  what: string,
  test: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + START_LIMIT_MS;
  let last: unknown;
  while (performance.now() < deadline) {
    signal.throwIfAborted();
    try {
      if (await test()) return;
    } catch (error) {
      last = error;
    }
    await sleep(POLL_MS);
  }
  throw new Error(`not in time: ${what}`, { cause: last });
}
