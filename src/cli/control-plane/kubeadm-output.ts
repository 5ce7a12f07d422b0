// pure
/** What kubeadm prints, as progress and as errors with their fix (cmd/kubeadm/app/preflight, phases/init). */

/** A line that says what kubeadm does now. */
export interface KubeadmStep {
  /** Like `certs`. */
  readonly phase: string;
  readonly text: string;
}

/** The step that a line names; undefined for all other lines. */
export function kubeadmStep(line: string): KubeadmStep | undefined {
  const [, phase, text] = /^\[([a-z][a-z-]*)\] (\S.*)$/.exec(line) ?? [];
  return phase === undefined || text === undefined ? undefined : { phase, text };
}

/** Why kubeadm ended. */
interface KubeadmFailure {
  readonly problem: string;
  /** What to do about it; empty where only the component's own log explains it. */
  readonly fix: string;
}

/** Fixes by the check of kubeadm's preflight that failed; the longest name that fits counts. */
const FIXES: readonly (readonly [check: RegExp, fix: (check: string, part: string) => string])[] = [
  [
    /^Port-(\d+)$/,
    (_, port = "") => `stop what listens on port ${port}: ss -ltnp 'sport = :${port}'`,
  ],
  [
    /^(?:FileAvailable--etc-kubernetes|DirAvailable--etc-kubernetes)/,
    () => "an earlier cluster has left it: nodelet down, or kubeadm reset",
  ],
  [
    /^DirAvailable--var-lib-etcd$/,
    () =>
      "it is the data of an earlier cluster: keep a copy if you need it, then remove its content",
  ],
  [/^NumCPU$/, () => "give the machine two CPUs, or pass --ignore-preflight-errors=NumCPU"],
  [/^Mem$/, () => "give the machine 1700 MB of memory, or pass --ignore-preflight-errors=Mem"],
  [
    /^ImagePull$/,
    () =>
      "load it: nodelet image load FILE, or name a registry that can be reached: --image-repository",
  ],
  [
    /^Swap$/,
    () => "swapoff -a, or set failSwapOn: false in the KubeletConfiguration of --kubeadm-config",
  ],
  [
    /^FileContent--proc-sys-(.*)$/,
    (_, path = "") => `set the kernel's value: sysctl -w ${path.replaceAll("-", ".")}=1`,
  ],
  [/^FileExisting-(.*)$/, (_, program = "") => `install ${program}`],
  [/^CRI$/, () => "nodelet up --check shows whether the container runtime can be used"],
  [/^IsPrivilegedUser$/, () => "run it as root"],
  [
    /^CreateJob$/,
    () =>
      "a pod must be able to run: nodelet get pods -n kube-system, or pass --ignore-preflight-errors=CreateJob",
  ],
];

/** Fixes by what the last error of a later phase says. */
const LATER_FIXES: readonly (readonly [text: RegExp, fix: string])[] = [
  [
    /a Node with name ".*" and status "Ready" already exists/,
    "give this machine another host name, or remove the other one: kubectl delete node NAME",
  ],
  [
    /doesn't have a stable controlPlaneEndpoint address/,
    "the cluster's first control plane needs --control-plane-endpoint from its beginning",
  ],
  [
    /Secret "kubeadm-certs" was not found|error decoding secret data with provided key|error decoding certificate key/,
    "kubeadm init phase upload-certs --upload-certs on a control plane prints a new --certificate-key",
  ],
];

const PREFLIGHT_ERROR = /^\s*\[ERROR ([^\]]+)\]: (.*)$/;
const LAST_ERROR = /^(?:error: )?error execution phase ([^:]+): (.*)$/;

/** The failures that a kubeadm without success has printed, most of them from its preflight. */
export function kubeadmFailures(output: string): readonly KubeadmFailure[] {
  const lines = output.split("\n");
  const failures = lines.flatMap((line): KubeadmFailure[] => {
    const [, check, text] = PREFLIGHT_ERROR.exec(line) ?? [];
    return check === undefined || text === undefined ? [] : [{ problem: text, fix: fixOf(check) }];
  });
  if (failures.length > 0) return failures;
  for (const [at, line] of [...lines.entries()].toReversed()) {
    const [, phase, first] = LAST_ERROR.exec(line) ?? [];
    // Some reasons are a paragraph below.
    const more = lines.slice(at + 1).filter((other) => other.trim() !== "");
    const text = first?.trim() === "" ? more.slice(0, 2).join(" ") : first;
    if (phase !== undefined && text !== undefined)
      return [
        {
          problem: `kubeadm failed in its phase ${phase}: ${text}`,
          fix: LATER_FIXES.find(([known]) => known.test(output))?.[1] ?? "",
        },
      ];
  }
  const last = lines.findLast((line) => line.trim() !== "") ?? "kubeadm printed nothing";
  return [{ problem: last.trim(), fix: "" }];
}

function fixOf(check: string): string {
  for (const [pattern, fix] of FIXES) {
    const parts = pattern.exec(check);
    if (parts !== null) return fix(parts[0], parts[1] ?? "");
  }
  return `pass --ignore-preflight-errors=${check} if that is meant to be so`;
}
