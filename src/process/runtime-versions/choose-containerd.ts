/** Which of the machine's containerds is started: a machine may have its distribution's and a newer one beside it. */
import { findPrograms } from "../programs.ts";
import { programVersion } from "./program-version.ts";
import { isContainerd2 } from "./series.ts";

/** A containerd that can be started. */
export interface ContainerdProgram {
  /** Absolute path. */
  readonly path: string;
  /** E.g. `2.4.2`; undefined where it prints none. */
  readonly version: string | undefined;
}

/** The first containerd 2 or newer on the PATH, else the first; `undefined` when there is none. */
export async function chooseContainerd(
  paths: readonly string[] = findPrograms("containerd"),
): Promise<ContainerdProgram | undefined> {
  const all: ContainerdProgram[] = [];
  for (const path of paths) all.push({ path, version: await programVersion("containerd", path) });
  return all.find(({ version }) => isContainerd2(version)) ?? all[0];
}
