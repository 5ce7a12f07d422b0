// pure
/** OCI runtimes that our containerd can have as handlers, beside the one that pods get that name no RuntimeClass. */

/** How a runtime is found and what containerd is given of it. */
interface KnownRuntime {
  /** Name of the handler and of its RuntimeClass. */
  readonly name: string;
  /** containerd's name of the shim. */
  readonly type: string;
  /** Programs without which it cannot run, the one that the shim is to call first. */
  readonly programs: readonly string[];
  /** Whether the shim is given the program to call; others find theirs by themselves. */
  readonly takesPath: boolean;
}

const RUNC_SHIM = { type: "io.containerd.runc.v2", takesPath: true };

/** In the order in which they become the default: crun starts and stops a pod faster than runc (docs/benchmark.md). */
const KNOWN: readonly KnownRuntime[] = [
  { name: "crun", programs: ["crun"], ...RUNC_SHIM },
  { name: "runc", programs: ["runc"], ...RUNC_SHIM },
  { name: "youki", programs: ["youki"], ...RUNC_SHIM },
  {
    name: "runsc",
    type: "io.containerd.runsc.v1",
    programs: ["runsc", "containerd-shim-runsc-v1"],
    takesPath: false,
  },
  {
    name: "kata",
    type: "io.containerd.kata.v2",
    programs: ["containerd-shim-kata-v2"],
    takesPath: false,
  },
];

/** What pods get where nothing else was chosen or passes. */
const FALLBACK = "runc";
/** Those that may become the default without being asked for. */
const BY_THEMSELVES: readonly string[] = ["crun", FALLBACK];

/** Names that can be chosen. */
export const OCI_RUNTIME_NAMES: readonly string[] = KNOWN.map(({ name }) => name);

/** A runtime that the machine has. */
export interface OciRuntime {
  readonly name: string;
  readonly type: string;
  /** Absolute path of the program that the shim is to call; undefined where it finds its own. */
  readonly path: string | undefined;
  /** Absolute paths of all its programs. */
  readonly programs: readonly string[];
}

/** Those that the machine has all programs of; `find` gives the path of a program. */
export function ociRuntimes(find: (program: string) => string | undefined): readonly OciRuntime[] {
  return KNOWN.flatMap(({ name, type, programs, takesPath }) => {
    const paths = programs.flatMap((program) => find(program) ?? []);
    if (paths.length < programs.length) return [];
    return [{ name, type, path: takesPath ? paths[0] : undefined, programs: paths }];
  });
}

/** Runtimes that containerd is configured with. */
export interface OciHandlers {
  readonly runtimes: readonly OciRuntime[];
  /** Name of the one for pods that name no RuntimeClass. */
  readonly chosen: string;
}

/**
 * The handlers: all but those that were tried as they are and failed; the fallback stays in any case, so that a node
 * without a working runtime still says by its pods what is wrong. `chosen` is the user's choice.
 */
export function planHandlers(
  found: readonly OciRuntime[],
  problemOf: (runtime: OciRuntime) => string | undefined,
  chosen: string | undefined,
): OciHandlers {
  const runtimes = found.filter(
    (runtime) => runtime.name === FALLBACK || problemOf(runtime) === undefined,
  );
  const works = runtimes.filter((runtime) => problemOf(runtime) === undefined);
  const itself = works.find(({ name }) => BY_THEMSELVES.includes(name))?.name ?? FALLBACK;
  return { runtimes, chosen: chosen ?? itself };
}
