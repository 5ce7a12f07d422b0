import { isOutside, messageOf, OutsideError } from "../../kit/errors.ts";
import type { CgroupTree } from "../../outside/host/host.ts";
import type { SystemdUnits } from "../../outside/systemd/systemd.ts";
import { isSameValue } from "./same-value.ts";
import { startProperties, unitOf, unitProperties } from "./units.ts";
import type { CgroupPlan, CgroupWrite } from "./writes.ts";

/** Writer of groups and values: the kernel's files, with systemd also its units. */
export interface CgroupAccess {
  readonly tree: CgroupTree;
  /** Absent with the cgroupfs driver. */
  readonly systemd?: { readonly units: SystemdUnits; readonly version: number };
}

/** A value that is not as planned; `found` is `undefined` when group or file are missing. */
export interface CgroupDifference {
  readonly path: string;
  readonly file: string;
  readonly found: string | undefined;
  readonly wanted: string;
  /** The value was written by another process, not by the agent. */
  readonly foreign?: true;
}

/** A write that did not succeed. */
interface CgroupFailure {
  readonly path: string;
  readonly file: string;
  readonly wanted: string;
  readonly error: OutsideError;
}

/** Result of applying a plan. */
export interface CgroupReport {
  readonly created: boolean;
  readonly written: readonly CgroupDifference[];
  readonly failed: readonly CgroupFailure[];
}

/** Attempts at a limit above a usage that is growing. */
const RAISE_ATTEMPTS = 3;

/**
 * Distance of a limit above the usage on v2, where a limit below it kills instead of being refused: as
 * much as a fast process may allocate between reading the usage and writing the limit.
 */
const HEADROOM_ABOVE_USAGE_BYTES = 16n * 1024n * 1024n;

/** Changes that `plan` would make. Reads only. */
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
  const wanted = await raisedValue(tree, path, write, found);
  if (found !== undefined && isSameValue(file, found, wanted)) return undefined;
  return { path, file, found, wanted, ...(write.asFound ? { foreign: true } : {}) };
}

/**
 * The planned value, or more where that much is in use and must not be cut. A limit above the planned one
 * is only lowered, so that a class at its limit cannot raise it step by step.
 */
async function raisedValue(
  tree: CgroupTree,
  path: string,
  write: CgroupWrite,
  found: string | undefined,
): Promise<string> {
  if (write.usage?.raise !== "always" || !isNumber(write.value)) return write.value;
  const usage = await usageOf(tree, path, write);
  if (usage === undefined) return write.value;
  const planned = BigInt(write.value);
  const kept = usage + HEADROOM_ABOVE_USAGE_BYTES;
  const least = isNumber(found) && BigInt(found) < kept ? BigInt(found) : kept;
  return String(least > planned ? least : planned);
}

async function usageOf(
  tree: CgroupTree,
  path: string,
  { usage }: CgroupWrite,
): Promise<bigint | undefined> {
  const text = usage && (await tree.read(path, usage.file));
  return isNumber(text) ? BigInt(text) : undefined;
}

function isNumber(text: string | undefined): text is string {
  return text !== undefined && /^\d+$/.test(text);
}

/**
 * Makes the group if the plan says so and writes what differs. Writes that fail are tried once more
 * after the others, since one value may only fit when another is set (quota and period). Throws when
 * the group cannot be made or is missing; failed writes are in the report. With `repair`, values that
 * are usually left alone are written too.
 */
export async function applyCgroupPlan(
  access: CgroupAccess,
  plan: CgroupPlan,
  { repair = false }: { readonly repair?: boolean } = {},
): Promise<CgroupReport> {
  const { tree } = access;
  const exists = await tree.exists(plan.path);
  if (!exists && !plan.create) {
    throw new OutsideError("notFound", `cgroup ${plan.path} does not exist with all controllers`);
  }
  const writes = plan.writes.filter(({ asFound }) => repair || !asFound);
  if (!exists) await makeGroup(access, plan.path);
  if (access.systemd) await applyToSystemd(access, plan.path, writes);
  const written: CgroupDifference[] = [];
  let open: readonly CgroupWrite[] = writes;
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

/** A group that cannot be made whole is not left behind half made. */
async function makeGroup({ tree, systemd }: CgroupAccess, path: string): Promise<void> {
  try {
    await systemd?.units.start(unitOf(path), startProperties(path, tree));
    await tree.create(path);
  } catch (thrown) {
    await unmakeGroup({ tree, ...(systemd ? { systemd } : {}) }, path).catch(() => {});
    throw thrown;
  }
}

/** Only where nothing runs in it and nothing stands beneath: it may have been there in part. */
async function unmakeGroup(access: CgroupAccess, path: string): Promise<void> {
  if (!(await holdsAnything(access.tree, path))) await destroyGroup(access, path);
}

/** Whether something runs in the group, or there are groups beneath. */
export async function holdsAnything(tree: CgroupTree, path: string): Promise<boolean> {
  return (await tree.processes(path)).length > 0 || (await tree.children(path)).length > 0;
}

/** Ends what runs in the group and beneath, and removes it; with systemd its unit too. */
export async function destroyGroup({ tree, systemd }: CgroupAccess, path: string): Promise<void> {
  await tree.destroy(path);
  await systemd?.units.stop(unitOf(path));
}

/**
 * Gives systemd the same values, all of them as soon as one differs: what it does not know it would
 * undo when it writes a unit's values the next time.
 */
async function applyToSystemd(
  { tree, systemd }: CgroupAccess,
  path: string,
  writes: readonly CgroupWrite[],
): Promise<void> {
  if (!systemd) return;
  let differs = false;
  const wanted: CgroupWrite[] = [];
  for (const write of writes) {
    const difference = await compareWrite(tree, path, write);
    differs ||= difference !== undefined;
    wanted.push(difference ? { ...write, value: difference.wanted } : write);
  }
  const properties = unitProperties(tree, wanted, systemd.version);
  if (!differs || properties.length === 0) return;
  await systemd.units.setProperties(unitOf(path), properties);
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
      const usage = await usageOf(tree, path, write);
      if (usage !== undefined && isNumber(value) && usage > BigInt(value)) value = String(usage);
    }
  }
}

function asOutside(thrown: unknown, path: string, file: string): OutsideError {
  if (thrown instanceof OutsideError) return thrown;
  return new OutsideError("io", `${file} of cgroup ${path}: ${messageOf(thrown)}`, {
    cause: thrown,
  });
}
