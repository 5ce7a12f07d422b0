/**
 * The containerd of our own with the OCI runtimes of the machine as handlers. One is offered only after it has run a
 * container here: that a program is installed does not say that it understands this containerd, nor this kernel.
 */
import { createHash } from "node:crypto";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { CliError } from "../../../present/cli-error.ts";
import { RUNTIME_HANDLERS_FILE } from "../../../process/own-api.ts";
import { findProgram } from "../../../process/programs.ts";
import {
  type ContainerdProgram,
  chooseContainerd,
} from "../../../process/runtime-versions/choose-containerd.ts";
import type { OpenLedger } from "../ledger.ts";
import type { UpPaths } from "../paths.ts";
import { ensureSandboxImage } from "./bring-images.ts";
import { type OciRuntime, ociRuntimes, planHandlers } from "./oci-runtimes.ts";
import { ensureOwnContainerd } from "./own-containerd.ts";
import type { NetworkSource } from "./pod-network.ts";
import { runtimeProblem } from "./try-runtime.ts";

interface OwnRuntimeOptions {
  readonly paths: UpPaths;
  readonly ledger: OpenLedger;
  readonly mayLowerOomScore: boolean;
  readonly overlayWorks: boolean;
  /** The user's choice for pods that name no RuntimeClass. */
  readonly chosen: string | undefined;
  /** Cgroup below which containers are tried; it is there or may be made. */
  readonly cgroupParent: string;
  readonly network: NetworkSource;
  readonly print: (text: string) => void;
}

/**
 * Makes sure that our containerd runs, has the sandbox image, and offers what works. Throws `CliError`, also where the
 * chosen runtime cannot run a container.
 */
export async function ensureOwnRuntime(options: OwnRuntimeOptions): Promise<void> {
  const { paths, ledger, chosen, print } = options;
  const { socket } = paths.containerd;
  const found = ociRuntimes(findProgram);
  const containerd = await chooseContainerd();
  const digests = new Map(found.map((runtime) => [runtime.name, digestOf(runtime, containerd)]));
  const trials = new Map(Object.entries(ledger.now.ociTrials));
  const trialOf = ({ name }: OciRuntime) => {
    const trial = trials.get(name);
    return trial?.programs === digests.get(name) ? trial : undefined;
  };
  // Whoever asks for it wants to know whether it works now.
  if (chosen !== undefined) trials.delete(chosen);
  for (;;) {
    const handlers = planHandlers(found, (runtime) => trialOf(runtime)?.problem, chosen);
    await ensureOwnContainerd({ ...options, handlers });
    await ensureSandboxImage({ socket, own: true, ledger, print });
    const untried = handlers.runtimes.filter((runtime) => trialOf(runtime) === undefined);
    if (untried.length === 0) break;
    for (const { name } of untried) {
      const problem = await runtimeProblem(socket, name, options.cgroupParent);
      const programs = digests.get(name) ?? "";
      trials.set(name, problem === undefined ? { programs } : { programs, problem });
      if (problem !== undefined) print(`${name} is not offered, it ran no container: ${problem}`);
    }
    ledger.change(() => ({ ociTrials: Object.fromEntries(trials) }));
    const problem = chosen === undefined ? undefined : trials.get(chosen)?.problem;
    if (problem !== undefined) throw chosenFailed(chosen ?? "", problem);
  }
  offerHandlers(
    paths,
    found.filter((runtime) => trialOf(runtime)?.problem === undefined).map(({ name }) => name),
  );
}

/** Names the handlers that get a RuntimeClass in the node's own API. */
export function offerHandlers({ api }: UpPaths, handlers: readonly string[]): void {
  mkdirSync(api, { recursive: true, mode: 0o700 });
  writeFileSync(`${api}/${RUNTIME_HANDLERS_FILE}`, `${JSON.stringify(handlers)}\n`, {
    mode: 0o600,
  });
}

function chosenFailed(name: string, problem: string): CliError {
  return new CliError(`the OCI runtime ${name} cannot run a container here: ${problem}`, {
    fix: "choose another one with --oci-runtime, or leave the choice to nodelet",
  });
}

/** What a trial depends on: the programs themselves, and the containerd that hands them their work. */
function digestOf({ programs }: OciRuntime, containerd: ContainerdProgram | undefined): string {
  const facts = [...programs, ...(containerd ? [containerd.path] : [])].map((path) => {
    const { size, mtimeMs } = statSync(path);
    return [path, size, mtimeMs];
  });
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex");
}
