/** A machine with containerd and the Go kubelet, as their packages install them: for the real `kubeadm join`, and `kubeadm init`. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildPrograms } from "../../tools/go/build-programs.mjs";
import { type Box, type ContainerdVersion, startBox } from "../box/box.ts";
import { cniConfig } from "../box/containerd.ts";
import { clusterImages, componentPrograms, LATEST } from "./images.ts";
import { KUBEADM_CONFIG, type MachinePlace, startRegistry } from "./machine.ts";

const JOIN_MS = 600_000;
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The unit of the kubelet with kubeadm's drop-in, in place of systemd. */
const systemctl = (log: string) => `#!/bin/sh
pid=/run/kubelet.pid
stop() {
  [ -e $pid ] || return 0
  kill "$(cat $pid)"
  rm $pid
}
case $1 in
  stop) stop ;;
  start | restart)
    stop
    . /var/lib/kubelet/kubeadm-flags.env
    setsid kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \\
      --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS </dev/null >>${log} 2>&1 &
    echo $! >$pid ;;
esac
`;

const INIT_CONFIG = `${KUBEADM_CONFIG}nodeRegistration: {taints: [], criSocket: "unix:///run/containerd/containerd.sock"}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: ${LATEST}
networking: {podSubnet: 10.85.0.0/16}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
failCgroupV1: false
`;

/** A node of a cluster, as others see it. */
export interface NodePlace {
  readonly name: string;
  readonly address: string;
  readonly podCidr: string;
}

/** A machine in a box. */
class GoMachine implements AsyncDisposable {
  readonly box: Box;
  readonly #programs: string;

  constructor(box: Box, programs: string) {
    this.box = box;
    this.#programs = programs;
  }

  /** Runs `kubeadm join` with the words of a line that kubeadm has printed; throws when it fails. */
  join(words: readonly string[]): Promise<string> {
    return this.#kubeadm("join", ...words);
  }

  /** Makes a cluster as `nodelet up --control-plane` does: pods have a network, and run on the only node. */
  async init(): Promise<void> {
    this.box.write("/run/tmp/kubeadm.yaml", INIT_CONFIG);
    await this.box.run(["sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"]);
    await this.#kubeadm("init", "--config=/run/tmp/kubeadm.yaml", "--skip-token-print");
    // As with nodelet, the network of the pods follows from what the cluster gives to the node.
    await this.kubectl("wait", "--for=jsonpath={.spec.podCIDR}", "node/one", "--timeout=60s");
    const podCidr = await this.kubectl("get", "node", "one", "-ojsonpath={.spec.podCIDR}");
    await this.connectPods([{ name: "one", address: this.box.nodeAddress, podCidr }]);
    // Without it no pod is taken yet; `nodelet up` waits for more than that.
    await this.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s");
  }

  /** Standard output of kubectl; throws when it fails. */
  kubectl(...argv: readonly string[]): Promise<string> {
    const kubectl = join(this.#programs, "kubectl");
    return this.box.run([kubectl, "--kubeconfig=/etc/kubernetes/admin.conf", ...argv], {
      timeoutMs: JOIN_MS,
    });
  }

  #kubeadm(...argv: readonly string[]): Promise<string> {
    // The kernel of the machine has no list of its configuration in the box.
    const words = [...argv, "--ignore-preflight-errors=SystemVerification"];
    return this.box.run([join(this.#programs, "kubeadm"), ...words], {
      env: { PATH: `${this.#programs}:${PATH}` },
      timeoutMs: JOIN_MS,
    });
  }

  /** What a network plugin does that knows the nodes: a network for the pods here, and routes to those of other nodes. */
  async connectPods(nodes: readonly NodePlace[]): Promise<void> {
    for (const { address, podCidr } of nodes) {
      if (address !== this.box.nodeAddress)
        await this.box.run(["ip", "route", "add", podCidr, "via", address]);
      else {
        const network = cniConfig({ ipv6: false, subnet: podCidr, masquerade: true });
        this.box.write("/etc/cni/net.d/10-pods.conflist", network);
      }
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.box.dispose();
  }
}

/** Starts containerd on a machine that has kubeadm and the kubelet. */
export async function goMachine(
  place: MachinePlace,
  containerd: ContainerdVersion = "2.4",
): Promise<GoMachine> {
  const programs = await componentPrograms();
  const [kubelet = ""] = await buildPrograms(["kubelet"]);
  const box = await startBox({ containerd, network: false, storeMib: 0, ...place });
  try {
    const folder = join(box.folder, "programs");
    mkdirSync(folder);
    for (const name of ["kubeadm", "kubectl"])
      symlinkSync(programs.get(name) ?? "", join(folder, name));
    await box.run(["mkdir", "-p", "/run/tmp"]);
    symlinkSync(kubelet, join(folder, "kubelet"));
    const script = systemctl(join(box.folder, "kubelet.log"));
    writeFileSync(join(folder, "systemctl"), script, { mode: 0o755 });
    await startRegistry(box, [clusterImages(programs)]);
    return new GoMachine(box, folder);
  } catch (error) {
    await box.dispose();
    throw error;
  }
}
