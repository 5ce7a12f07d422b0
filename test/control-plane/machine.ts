/** A bare machine with what kubeadm asks for: its images in a registry on loopback, and kubeadm itself. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { busyboxEntries } from "../../src/cli/local-images/busybox.ts";
import { goArchitecture, type ImageSpec, layer } from "../../src/cli/local-images/image-archive.ts";
import { pauseProgram } from "../../src/cli/local-images/tiny-elf.ts";
import { debianFiles } from "../../tools/conformance/images/debian-files.ts";
import { accountFiles, file, link, merged } from "../../tools/conformance/images/root-files.ts";
import { writeStore } from "../../tools/conformance/images/store.ts";
import { CACHE_DIR } from "../../tools/debian-suite.mjs";
import { buildPrograms, pinnedVersion } from "../../tools/go/build-programs.mjs";
import { goObstacle } from "../../tools/go/go-command.mjs";
import type { BoxOptions, ExecResult } from "../box/box.ts";
import { testImage } from "../box/images.ts";
import { bareMachine, type NodeBox, type Running } from "../cli/node-box.ts";

const REGISTRY = resolve(import.meta.dirname, "../../tools/conformance/lab/registry.ts");
const REGISTRY_PORT = 5555;
const PROGRAMS = [
  "kubeadm",
  "kubectl",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kube-proxy",
  "etcd",
  "etcdctl",
  "etcdutl",
  "coredns",
  "agnhost",
] as const;
const COMMAND_MS = 900_000;

/** An image with a shell, a web server and a client that resolves names, under a name of the registry. */
export const WEB_IMAGE = "registry.example/web:1";

/** The version of kubeadm, and of the programs in the images. */
export const LATEST = pinnedVersion("kubeadm");
/** The release before by the names of images, which have the same programs: to be upgraded from. */
export const EARLIER = LATEST.replace(/\d+$/, (patch) => `${Number(patch) - 1}`);

/** Why no control plane can be made here; undefined when one can. */
export const controlPlaneObstacle = goObstacle;

/**
 * What a namespace of the test does not let kube-proxy set, and deadlines for a machine that is busy with other things; a file for
 * `--kubeadm-config`.
 */
const KUBEADM_CONFIG = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
timeouts: {controlPlaneComponentHealthCheck: 8m, kubernetesAPICall: 5m, kubeletHealthCheck: 8m, etcdAPICall: 5m}
`;

/** A machine in a box that can be made a control plane. */
export class ClusterMachine implements AsyncDisposable {
  readonly node: NodeBox;
  readonly #programs: string;

  constructor(node: NodeBox, programs: string) {
    this.node = node;
    this.#programs = programs;
  }

  /** Runs `nodelet up --control-plane` to its end. */
  up(...more: readonly string[]): Promise<ExecResult> {
    const argv = [
      ...["up", "--control-plane", "--timeout=6m", `--kubeadm=${this.#programs}`],
      ...["--kubeadm-config=/run/tmp/kubeadm.yaml"],
      // The kernel of the machine has no list of its configuration in the box.
      ...["--ignore-preflight-errors=SystemVerification", ...more],
    ];
    return this.nodelet(argv);
  }

  /** Runs a command of nodelet that may take its time. */
  nodelet(argv: readonly string[]): Promise<ExecResult> {
    const program = resolve(import.meta.dirname, "../../bin/nodelet");
    return this.node.box.exec([program, ...argv], { timeoutMs: COMMAND_MS });
  }

  /** Brings the cluster to the latest version. */
  upgrade(...more: readonly string[]): Promise<ExecResult> {
    // kubeadm's trial Job has the pause image print its version, which that of the lab does not do.
    const ignored = "--ignore-preflight-errors=SystemVerification,CreateJob";
    const kubeadm = `--kubeadm=${this.#programs}`;
    return this.nodelet(["upgrade", kubeadm, ignored, "--timeout=6m", ...more]);
  }

  /** Standard output of kubeadm; throws when it fails. */
  kubeadm(...argv: readonly string[]): Promise<string> {
    const kubeadm = join(this.#programs, "kubeadm");
    return this.node.box.run([kubeadm, ...argv], { timeoutMs: COMMAND_MS });
  }

  /** Runs `nodelet join` with the words of a line that kubeadm has printed. */
  join(...words: readonly string[]): Promise<ExecResult> {
    return this.nodelet(this.#joinCommand(words));
  }

  /** Starts the same. */
  startJoin(...words: readonly string[]): Running {
    return this.node.start(this.#joinCommand(words));
  }

  #joinCommand(words: readonly string[]): readonly string[] {
    const more = [`--kubeadm=${this.#programs}`, "--timeout=4m"];
    return ["join", ...words, ...more, "--ignore-preflight-errors=SystemVerification"];
  }

  /** The words to join with, of the line that kubeadm prints. */
  async joinWords(): Promise<readonly string[]> {
    const line = await this.kubeadm(
      ...["token", "create", "--print-join-command", "--kubeconfig=/etc/nodelet/kubeconfig"],
    );
    const [, words = ""] = /^kubeadm join (.*)$/m.exec(line) ?? [];
    return words.trim().split(/\s+/);
  }

  /** Standard output of kubectl; throws when it fails. */
  kubectl(...argv: readonly string[]): Promise<string> {
    const kubectl = join(this.#programs, "kubectl");
    return this.node.box.run([kubectl, "--kubeconfig=/etc/nodelet/kubeconfig", ...argv], {
      timeoutMs: COMMAND_MS,
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.node.box.dispose();
  }
}

/** A bare machine with a registry that has all images, and kubeadm in a folder. */
export async function clusterMachine(
  place: Pick<BoxOptions, "hostname" | "address"> = { hostname: "one" },
): Promise<ClusterMachine> {
  const paths = await buildPrograms([...PROGRAMS]);
  const programs = new Map(PROGRAMS.map((name, at) => [name as string, paths[at] ?? ""]));
  const node = await bareMachine({ storeMib: 0, ...place });
  try {
    const { box } = node;
    const folder = join(box.folder, "programs");
    mkdirSync(folder);
    for (const name of ["kubeadm", "kubectl"])
      symlinkSync(programs.get(name) ?? "", join(folder, name));
    await box.run(["mkdir", "-p", "/run/tmp"]);
    box.write("/run/tmp/kubeadm.yaml", KUBEADM_CONFIG);
    await startRegistry(node, await imageStore(node, programs));
    return new ClusterMachine(node, folder);
  } catch (error) {
    await node.box.dispose();
    throw error;
  }
}

async function imageStore(node: NodeBox, programs: ReadonlyMap<string, string>): Promise<string> {
  // The folders of programs have names of their own for each version of them.
  const digest = createHash("sha256")
    .update(JSON.stringify([...programs]))
    .digest("hex");
  const store = join(CACHE_DIR, `control-plane-images-${LATEST}-${digest.slice(0, 12)}`);
  if (existsSync(store)) return store;
  const names = new Set<string>();
  for (const version of [EARLIER, LATEST]) {
    const list = ["config", "images", "list", `--kubernetes-version=${version}`];
    const text = await node.box.run([programs.get("kubeadm") ?? "", ...list]);
    for (const name of text.trim().split("\n")) names.add(name);
  }
  const images = [...names].map((name) => componentImage(name, programs));
  writeStore(store, [...images, webImage(programs)]);
  return store;
}

/** The busybox of the image has no shared libraries, without which it resolves no names. */
function webImage(programs: ReadonlyMap<string, string>): ImageSpec {
  const image = testImage({ names: [WEB_IMAGE] });
  const agnhost = layer([file("agnhost", readFileSync(programs.get("agnhost") ?? ""), 0o755)]);
  return { ...image, layers: [...image.layers, agnhost] };
}

/** The image of a component under the name that kubeadm asks for. */
function componentImage(name: string, programs: ReadonlyMap<string, string>): ImageSpec {
  const [, component = ""] = /([a-z-]+):[^/]*$/.exec(name) ?? [];
  if (component === "pause") {
    const pause = pauseProgram(goArchitecture()) ?? new Uint8Array();
    const layers = [layer([file("pause", pause, 0o755)])];
    return { names: [name], layers, config: { entrypoint: ["/pause"] } };
  }
  const isDns = component === "coredns";
  const path = isDns ? "coredns" : `usr/local/bin/${component}`;
  const content = readFileSync(programs.get(component) ?? "");
  return {
    names: [name],
    layers: [
      layer(component === "kube-proxy" ? packetFilter() : merged(busyboxEntries(), accountFiles())),
      layer([
        file(path, content, 0o755),
        ...(component === "etcd" ? ["etcdctl", "etcdutl"] : []).map((tool) =>
          file(`usr/local/bin/${tool}`, readFileSync(programs.get(tool) ?? ""), 0o755),
        ),
      ]),
    ],
    config: isDns ? { entrypoint: ["/coredns"] } : {},
  };
}

/** The programs by which kube-proxy sets rules. */
function packetFilter() {
  const names = ["iptables", "ip6tables"].flatMap((name) =>
    ["", "-save", "-restore"].map((end) => link(`usr/sbin/${name}${end}`, "xtables-nft-multi")),
  );
  const files = [...debianFiles(["iptables"], () => {}).values()];
  return merged(busyboxEntries(), files, accountFiles(), names);
}

async function startRegistry({ box }: NodeBox, store: string): Promise<void> {
  const folder = "/etc/containerd/certs.d/_default";
  await box.run(["mkdir", "-p", folder]);
  const address = `http://127.0.0.1:${REGISTRY_PORT}`;
  const hosts = `server = "${address}"\n[host."${address}"]\ncapabilities = ["pull", "resolve"]\n`;
  box.write(`${folder}/hosts.toml`, hosts);
  const argv = [process.execPath, REGISTRY, `${REGISTRY_PORT}`, store];
  const running = box.spawnLogged("registry", argv);
  const log = join(box.folder, "registry.log");
  while (!readFileSync(log, "utf8").includes("ready")) {
    if (!running.running) throw new Error(`the registry ended\n${readFileSync(log, "utf8")}`);
    await sleep(50);
  }
}
