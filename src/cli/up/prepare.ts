/** Makes the machine a node: folders, runtime, images, configuration. Every step may be repeated. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { loadConfig } from "../../config/load.ts";
import type { Host } from "../../outside/host/host.ts";
import { CliError } from "../../present/cli-error.ts";
import { type MachineReport, mayLowerOomScore } from "./checks.ts";
import { kernelValues } from "./kernel-values.ts";
import { kubeletConfigFile } from "./kubelet-config-file.ts";
import { fileState, type OpenLedger } from "./ledger.ts";
import { ownChains } from "./network-traces.ts";
import type { UpPaths } from "./paths.ts";
import { ensureSandboxImage } from "./runtime/bring-images.ts";
import { ensureOwnRuntime, offerHandlers } from "./runtime/own-runtime.ts";
import type { NetworkSource } from "./runtime/pod-network.ts";

interface Preparation {
  readonly paths: UpPaths;
  readonly ledger: OpenLedger;
  readonly report: MachineReport;
  readonly host: Host;
  readonly print: (text: string) => void;
  /** The user's choice for pods that name no RuntimeClass; ours where there is none. */
  readonly ociRuntime: string | undefined;
  /** The network of a node that kubeadm makes, for which it writes the agent's configuration, too. */
  readonly forKubeadm?: Exclude<NetworkSource, "own">;
}

/** The agent's cgroups hang here (cgroupRoot left alone). */
const AGENT_CGROUP = "/kubepods";

/**
 * Folders that appear when pods run, beside our own: runtime, network and agent make them. Outermost
 * first, as they are noted and, the other way round, removed when empty.
 */
const SHARED_FOLDERS = [
  "/var/log/pods",
  "/var/log/containers",
  "/var/lib/cni",
  "/var/lib/cni/cache",
  "/var/lib/cni/results",
  "/run/containerd",
  "/run/containerd/fifo",
  "/run/containerd/s",
  "/run/containerd/runc",
  "/run/containerd/runc/k8s.io",
  "/run/netns",
  "/run/nri",
  "/opt/containerd",
  "/var/lib/kubelet",
  "/var/lib/kubelet/device-plugins",
  "/usr/libexec/kubernetes",
];

/** Does all of it; what is in place already is left as it is. */
export async function prepareNode(preparation: Preparation): Promise<void> {
  const { paths, ledger, report, print } = preparation;
  const { runtime } = report;
  if (runtime.kind === "refused") throw new CliError(runtime.why, { fix: runtime.fix });
  await makeFolders(preparation);
  if (runtime.kind === "own") {
    if (!runtime.running) print("starting containerd");
    await ensureOwnRuntime({
      paths,
      ledger,
      mayLowerOomScore: mayLowerOomScore(report.capabilities),
      overlayWorks: report.overlayProblem === undefined,
      chosen: preparation.ociRuntime,
      cgroupParent: AGENT_CGROUP,
      network: preparation.forKubeadm ?? "own",
      print,
    });
  } else {
    ledger.change(() => ({ runtime: { kind: "found", socket: runtime.socket } }));
    await ensureSandboxImage({ socket: runtime.socket, own: false, ledger, print });
    offerHandlers(paths, []);
  }
  if (preparation.forKubeadm === undefined) await writeKubeletConfig(preparation, runtime.socket);
}

async function makeFolders({ paths, ledger, host }: Preparation): Promise<void> {
  const etc = [dirname(paths.config), dirname(paths.kubeconfig), paths.manifests];
  ledger.expectFolders([paths.stateDir, paths.runDir, paths.logDir, ...etc, ...SHARED_FOLDERS]);
  if (ledger.now.runtime === undefined) {
    const cgroups = (await host.cgroups.exists(AGENT_CGROUP)) ? [] : [AGENT_CGROUP];
    const chainsBefore = await ownChains();
    const sysctls = kernelValues(host);
    ledger.change(() => ({ cgroups, chainsBefore, sysctls }));
  }
  mkdirSync(paths.stateDir, { recursive: true, mode: 0o711 });
  mkdirSync(paths.runDir, { recursive: true, mode: 0o755 });
  mkdirSync(paths.logDir, { recursive: true, mode: 0o750 });
  for (const folder of etc) mkdirSync(folder, { recursive: true, mode: 0o755 });
}

/** Writes the configuration unless the user has made it theirs. */
async function writeKubeletConfig(preparation: Preparation, socket: string): Promise<void> {
  const { paths, ledger, report, print, host } = preparation;
  const state = fileState(ledger.now, paths.config);
  if (state === "changed" || state === "foreign") {
    print(`${paths.config} was not created by nodelet, or was changed since; keeping it`);
    const { config } = await loadConfig([`--config=${paths.config}`], host.files, { cwd: "/" });
    const other = otherRuntime(paths.config, config.containerRuntimeEndpoint, socket);
    if (other !== undefined) print(other);
    return;
  }
  const { version = 2 } = report.cgroups;
  const text = kubeletConfigFile({
    manifests: paths.manifests,
    runtimeSocket: socket,
    clientCaFile: `${paths.api}/pki/ca.crt`,
    certDir: `${paths.agentRoot}/pki`,
    cgroupVersion: version,
    swapOn: report.swapBytes > 0,
    ...(existsSync(REAL_RESOLV_CONF) ? { resolvConf: REAL_RESOLV_CONF } : {}),
  });
  ledger.writeFile(paths.config, text, 0o600);
}

/** Says that a configuration which is kept has the agent use another runtime than the one that is ready for it. */
function otherRuntime(path: string, endpoint: string, socket: string): string | undefined {
  if (endpoint.replace(/^unix:\/\//, "") === socket) return undefined;
  const other = endpoint.replace(/^unix:\/\//, "");
  return (
    `${path} has containerRuntimeEndpoint: ${endpoint}, but the runtime of this node is at unix://${socket}: correct it ` +
    `in the file, or start what listens there and use --containerd ${other}`
  );
}

/** File of systemd-resolved with the real name servers; its stub address is unreachable inside a pod. */
export const REAL_RESOLV_CONF = "/run/systemd/resolve/resolv.conf";
