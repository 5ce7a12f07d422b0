import { writeFileSync } from "node:fs";
import { isSea } from "node:sea";

/**
 * The entry of the process. As `kubelet` (a symlink of that name), or with `run`, it is the agent and loads
 * nothing that only the command line needs: it stays in memory for months.
 */
async function main(argv: readonly string[]): Promise<number> {
  // Without `--disable-sigusr1`, Node would open its inspector to everybody on this machine at this signal;
  // with it, the signal would end the process.
  process.on("SIGUSR1", () => {});
  if (isSea()) {
    const { becomeFileWorker, withAgentMemory } = await import("./process/single-executable.ts");
    if (becomeFileWorker(argv)) return 0;
    withAgentMemory(argv);
  }
  const asKubelet = process.env["NODELET_INVOKED_AS"] === "kubelet";
  // `pidof`, kube-bench and Kubernetes' node suite find a kubelet by its command line.
  if (asKubelet) process.title = ["kubelet", ...argv].join(" ");
  nameProcess(asKubelet ? "kubelet" : "nodelet");
  if (asKubelet || argv[0] === "run") {
    const { runAgent } = await import("./process/run.ts");
    const code = await (asKubelet
      ? runAgent(argv, "kubelet")
      : runAgent(argv.slice(1), "nodelet run"));
    // A connection or a watch that was left open must not keep an agent that has left.
    setTimeout(() => process.exit(), EXIT_LIMIT_MS).unref();
    return code;
  }
  const { runCli } = await import("./cli/cli.ts");
  return runCli(argv);
}

/** Time for open handles to close after the agent has left; then the process exits. */
const EXIT_LIMIT_MS = 5_000;

/** Sets the name that `ps` and `pgrep` show: `process.title` sets it to the beginning of the command line. */
function nameProcess(name: string): void {
  try {
    writeFileSync("/proc/self/comm", name);
  } catch {
    // Only a name: where /proc is not to be written, the process keeps Node's.
  }
}

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
