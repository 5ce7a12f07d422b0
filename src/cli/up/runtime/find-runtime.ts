import { chooseContainerd } from "../../../process/runtime-versions/choose-containerd.ts";
import { isContainerd2 } from "../../../process/runtime-versions/series.ts";
import { queryRuntime } from "../../runtime/query-runtime.ts";
import { runtimeObstacle } from "../../runtime/runtime-facts.ts";
import type { RuntimePlan } from "../checks.ts";
import type { RuntimeNote } from "../ledger.ts";
import type { UpPaths } from "../paths.ts";

/** Usual socket of the machine's containerd. */
export const USUAL_SOCKET = "/run/containerd/containerd.sock";

/** The user's choice: `auto`, `own`, or the path of a socket. */
export type RuntimeChoice = string;

interface RuntimeSearch {
  readonly choice: RuntimeChoice;
  readonly paths: UpPaths;
  /** The runtime of the last `up`, whose pods may still run. */
  readonly last: RuntimeNote | undefined;
  readonly mayLowerOomScore: boolean;
}

/**
 * Decides which runtime pods will run on: the one of the last `up`, so that its pods are found again;
 * else a containerd of the machine that can be used, runs no pods of others and is not older than one that we could start;
 * else one of our own.
 */
export async function findRuntime(search: RuntimeSearch): Promise<RuntimePlan> {
  const { choice, paths, last } = search;
  if (choice === "own") return await planOwn(paths, undefined);
  if (choice !== "auto") return await planNamed(search, choice);
  if (last?.kind === "own") return await planOwn(paths, undefined);
  if (last?.kind === "found") return await planNamed(search, last.socket);
  const found = await tryUsing(search, USUAL_SOCKET);
  if (found.kind !== "usable") return await planOwn(paths, found.why);
  const newer = await newerThan(found.version);
  if (newer !== undefined) return await planOwn(paths, newer);
  return { ...found, kind: "found", socket: USUAL_SOCKET };
}

/** Why a containerd 1 that runs is passed over: the machine has a containerd 2 as well. */
async function newerThan(running: string): Promise<string | undefined> {
  if (isContainerd2(running.split(" ")[1])) return undefined;
  const program = await chooseContainerd();
  if (program === undefined || !isContainerd2(program.version)) return undefined;
  return `it is ${running}, and ${program.path} is containerd ${program.version}`;
}

async function planOwn(paths: UpPaths, notUsing: string | undefined): Promise<RuntimePlan> {
  const { socket } = paths.containerd;
  const { kind } = await queryRuntime(socket, 0);
  return { kind: "own", socket, running: kind === "answers", notUsing };
}

async function planNamed(search: RuntimeSearch, socket: string): Promise<RuntimePlan> {
  const found = await tryUsing(search, socket);
  if (found.kind === "usable") return { ...found, kind: "found", socket };
  const known = search.last?.socket === socket;
  return {
    kind: "refused",
    socket,
    why: found.why ?? "nothing listens there",
    fix: known
      ? "the last up used it: start it again, or run `nodelet down` to start over"
      : "correct that, or use nodelet's own: --containerd own",
  };
}

type Usable =
  | {
      readonly kind: "usable";
      readonly version: string;
      readonly deprecations: readonly string[];
    }
  | { readonly kind: "not"; readonly why: string | undefined };

async function tryUsing(search: RuntimeSearch, socket: string): Promise<Usable> {
  const answer = await queryRuntime(socket);
  if (answer.kind === "absent") return { kind: "not", why: undefined };
  if (answer.kind === "silent") return { kind: "not", why: answer.why };
  const { last, mayLowerOomScore } = search;
  const known = last?.kind === "found" && last.socket === socket;
  const why = runtimeObstacle(answer.facts, { known, mayLowerOomScore });
  return why === undefined
    ? { kind: "usable", version: answer.facts.version, deprecations: answer.facts.deprecations }
    : { kind: "not", why };
}
