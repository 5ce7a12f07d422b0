// pure
import type { Allocation, GivenNetwork, NetworkConfig } from "./cni-files.ts";

/** Something on disk with the time it was made, Unix milliseconds. */
export type Dated<T> = T & { readonly madeMs: number };

/** A network namespace that is kept by a file. */
export interface Namespace {
  readonly path: string;
  /** Addresses of its interfaces. */
  readonly ips: readonly string[];
  /** Whether a process is in it: then it is somebody's. */
  readonly inUse: boolean;
}

/** What there is of sandboxes' networks. */
export interface NetworkGround {
  readonly given: readonly Dated<GivenNetwork & { readonly file: string }>[];
  readonly allocations: readonly Dated<Allocation>[];
  readonly namespaces: readonly Dated<Namespace>[];
  /** Every sandbox that the runtime has, whatever its state. */
  readonly sandboxes: ReadonlySet<string>;
  /** The runtime's networks by name. */
  readonly configs: ReadonlyMap<string, NetworkConfig>;
  /** What is younger may just be in the making: the runtime's present life began then, or a little ago. */
  readonly beforeMs: number;
}

/** A network to be taken back from a sandbox that is no more. */
export interface ForgottenNetwork {
  readonly sandboxId: string;
  readonly interfaceName: string;
  readonly config: NetworkConfig;
  /** Empty when it is not known, or gone. */
  readonly namespace: string;
  readonly args: string;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly result: Readonly<Record<string, unknown>> | undefined;
  /** The cache's entry, to be removed when it is done. */
  readonly file: string | undefined;
}

/** What is to be taken back. */
export interface ForgottenNetworks {
  readonly networks: readonly ForgottenNetwork[];
  /** Files of namespaces to be given up afterwards. */
  readonly namespaces: readonly string[];
}

/**
 * What a runtime that was killed while it made a sandbox has forgotten: it keeps no note of the sandbox before its
 * network is there. Left alone is what is young, what a sandbox has that the runtime knows, and what processes live in:
 * another runtime may use the same folders. `undefined` when there is nothing.
 */
export function planForgotten(ground: NetworkGround): ForgottenNetworks | undefined {
  const { given, allocations, sandboxes, configs, beforeMs } = ground;
  const isForgotten = (each: Dated<{ readonly sandboxId: string; readonly network: string }>) =>
    each.madeMs < beforeMs && !sandboxes.has(each.sandboxId) && configs.has(each.network);
  const dead = deadNamespaces(ground);
  const living = ground.namespaces.filter((each) => !dead.includes(each));
  const known = new Set(given.map(({ sandboxId, network }) => `${network}/${sandboxId}`));
  const cached = given
    .filter(isForgotten)
    .filter((each) => !living.some(({ path }) => holds(each, path)))
    .map(({ sandboxId, interfaceName, config, args, capabilities, result, file, ...each }) => {
      const namespace = dead.find(({ path }) => holds(each, path))?.path ?? "";
      return { sandboxId, interfaceName, config, args, capabilities, result, file, namespace };
    });
  const loose = allocations
    .filter(isForgotten)
    .filter(({ sandboxId, network }) => !known.has(`${network}/${sandboxId}`))
    .flatMap(({ network, sandboxId, interfaceName, ip }) => {
      const config = configs.get(network);
      const namespace = dead.find(({ ips }) => ips.includes(ip))?.path;
      if (config === undefined || namespace === undefined) return [];
      const nothing = { args: "", capabilities: {}, result: undefined, file: undefined };
      return [{ sandboxId, interfaceName, config, namespace, ...nothing }];
    });
  const networks = [...cached, ...loose];
  if (networks.length + dead.length === 0) return undefined;
  return { networks, namespaces: dead.map(({ path }) => path) };
}

/** Namespaces without processes that belong to no sandbox there is. */
function deadNamespaces(ground: NetworkGround): readonly Namespace[] {
  const { given, namespaces, sandboxes, beforeMs } = ground;
  const wanted = given.filter(({ sandboxId }) => sandboxes.has(sandboxId));
  return namespaces.filter(
    ({ path, madeMs, inUse }) =>
      madeMs < beforeMs && !inUse && !wanted.some((each) => holds(each, path)),
  );
}

/** Whether the network has interfaces in the namespace; `/var/run` is `/run` by another name. */
function holds({ namespaces }: Pick<GivenNetwork, "namespaces">, path: string): boolean {
  const plain = (each: string) => each.replace(/^\/var\/run\//, "/run/");
  return namespaces.some((each) => plain(each) === plain(path));
}
