import { isOutside, messageOf, OutsideError } from "../../kit/errors.ts";
import type { CgroupTree } from "../../outside/host/host.ts";
import { isSameValue } from "./same-value.ts";
import type { CgroupPlan, CgroupWrite } from "./writes.ts";

/** A value that is not as planned; `found` is `undefined` when group or file are missing. */
export interface CgroupDifference {
  readonly path: string;
  readonly file: string;
  readonly found: string | undefined;
  readonly wanted: string;
}

/** A write that did not succeed. */
export interface CgroupFailure {
  readonly path: string;
  readonly file: string;
  readonly wanted: string;
  readonly error: OutsideError;
}

/** What applying a plan has done. */
export interface CgroupReport {
  readonly created: boolean;
  readonly written: readonly CgroupDifference[];
  readonly failed: readonly CgroupFailure[];
}

/** Tries of a limit that chases a usage which grows meanwhile. */
const RAISE_ATTEMPTS = 3;

/** What `plan` would change. Reads only. */
export async function comparePlan(
  tree: CgroupTree,
  plan: CgroupPlan,
): Promise<readonly CgroupDifference[]> {
  const differences: CgroupDifference[] = [];
  for (const write of plan.writes) {
    const difference = await compareWrite(tree, plan.path, write);
    if (difference) differences.push(difference);
  }
  return differences;
}

async function compareWrite(
  tree: CgroupTree,
  path: string,
  write: CgroupWrite,
): Promise<CgroupDifference | undefined> {
  const { file } = write;
  const found = await tree.read(path, file);
  if (found === undefined && write.optional) return undefined;
  const wanted = await raisedValue(tree, path, write);
  if (found !== undefined && isSameValue(file, found, wanted)) return undefined;
  return { path, file, found, wanted };
}

/** The planned value, or the present usage where that is more and must not be cut. */
async function raisedValue(tree: CgroupTree, path: string, write: CgroupWrite): Promise<string> {
  return write.usage?.raise === "always"
    ? atLeastUsage(tree, path, write, write.usage.file)
    : write.value;
}

async function atLeastUsage(
  tree: CgroupTree,
  path: string,
  write: CgroupWrite,
  usageFile: string,
): Promise<string> {
  const usage = await tree.read(path, usageFile);
  const isBounded = /^\d+$/.test(write.value) && usage !== undefined && /^\d+$/.test(usage);
  return isBounded && BigInt(usage) > BigInt(write.value) ? usage : write.value;
}

/**
 * Makes the group if the plan says so and writes what differs. Writes that fail are tried once more
 * after the others, since one value may only fit when another is set (quota and period). Throws when
 * the group cannot be made or is missing; failed writes are in the report.
 */
export async function applyPlan(tree: CgroupTree, plan: CgroupPlan): Promise<CgroupReport> {
  const exists = await tree.exists(plan.path);
  if (!exists && !plan.create) {
    throw new OutsideError("notFound", `cgroup ${plan.path} does not exist with all controllers`);
  }
  if (!exists) await tree.create(plan.path);
  const written: CgroupDifference[] = [];
  let open: readonly CgroupWrite[] = plan.writes;
  let failed: CgroupFailure[] = [];
  for (let pass = 1; pass <= 2 && open.length > 0; pass += 1) {
    failed = [];
    const again: CgroupWrite[] = [];
    for (const write of open) {
      const outcome = await applyWrite(tree, plan.path, write);
      if (outcome === undefined) continue;
      if ("error" in outcome) {
        failed.push(outcome);
        again.push(write);
      } else written.push(outcome);
    }
    open = again;
  }
  return { created: !exists, written, failed };
}

async function applyWrite(
  tree: CgroupTree,
  path: string,
  write: CgroupWrite,
): Promise<CgroupDifference | CgroupFailure | undefined> {
  const { file } = write;
  let wanted = write.value;
  try {
    const difference = await compareWrite(tree, path, write);
    if (difference === undefined) return undefined;
    wanted = difference.wanted;
    const value = await writeRaising(tree, path, write, wanted);
    return { ...difference, wanted: value };
  } catch (thrown) {
    return { path, file, wanted, error: asOutside(thrown, path, file) };
  }
}

/** Writes `value`, or the usage when the kernel will not go below it. Answers what was written. */
async function writeRaising(
  tree: CgroupTree,
  path: string,
  write: CgroupWrite,
  first: string,
): Promise<string> {
  let value = first;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await tree.write(path, write.file, value);
      return value;
    } catch (thrown) {
      const mayRaise = write.usage !== undefined && isOutside(thrown, "precondition");
      if (!mayRaise || attempt >= RAISE_ATTEMPTS) throw thrown;
      value = await atLeastUsage(tree, path, write, write.usage.file);
    }
  }
}

function asOutside(thrown: unknown, path: string, file: string): OutsideError {
  if (thrown instanceof OutsideError) return thrown;
  return new OutsideError("io", `${file} of cgroup ${path}: ${messageOf(thrown)}`, {
    cause: thrown,
  });
}
