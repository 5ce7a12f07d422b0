import { isOutside } from "../../../kit/errors.ts";
import { untilAborted } from "../../../kit/within.ts";
import type { DiskUsage, NewFolder, PodFiles } from "../host.ts";
import type { ServerMount, VolumeFiles } from "../volume-files.ts";
import type { OperationName } from "./operations.ts";

/** Runs an operation in a worker; `paths` are what it is about. */
export type RunInWorker = <T>(
  operation: OperationName,
  args: readonly unknown[],
  paths: readonly string[],
) => Promise<T>;

/** Files whose system calls are made by workers. */
export function createPodFiles(run: RunInWorker): PodFiles {
  return {
    readText: (path, options) => run("files.readText", [path, options], [path]),
    readTail: (root, relativePath, maxBytes) =>
      run("files.readTail", [root, relativePath, maxBytes], [`${root}/${relativePath}`]),
    writeAtomic: (path, content, mode) => run("files.writeAtomic", [path, content, mode], [path]),
    append: (path, text, mode, options) => run("files.append", [path, text, mode, options], [path]),
    makeDirectory: (path, mode) => run("files.makeDirectory", [path, mode], [path]),
    makeDirectories: (folders) => makeDirectories(run, folders),
    list: (path) => run("files.list", [path], [path]),
    facts: (path, options) => run("files.facts", [path, options], [path]),
    factsOfAll: (paths, options) => run("files.factsOfAll", [paths, options], paths),
    remove: (path) => run("files.remove", [path], [path]),
    removeTree: (path) => run("files.removeTree", [path], [path]),
    measureTrees: (paths, limits, signal) =>
      untilAborted(run("files.measureTrees", [paths, limits], paths), signal),
    link: (target, path, options) => run("files.link", [target, path, options], [path]),
    rename: (from, to) => run("files.rename", [from, to], [from, to]),
    listBeneath: (root, relativePath) =>
      run("files.listBeneath", [root, relativePath], [`${root}/${relativePath}`]),
    changeBeneath: (root, relativePath, changes) =>
      run("files.changeBeneath", [root, relativePath, changes], [`${root}/${relativePath}`]),
  };
}

/** All in one request; when that gets no answer, one by one, which shows whose file system does not answer. */
async function makeDirectories(
  run: RunInWorker,
  folders: readonly NewFolder[],
): Promise<readonly boolean[]> {
  const paths = folders.map(({ path }) => path);
  try {
    return await run("files.makeDirectories", [folders], paths);
  } catch (error) {
    if (!isOutside(error, "deadline")) throw error;
    for (const { path, mode } of folders) await run("files.makeDirectory", [path, mode], [path]);
    return folders.map(() => false);
  }
}

/** Volumes whose system calls are made by workers. */
export function createRemoteVolumes(
  run: RunInWorker,
  servers: { mount(mount: ServerMount): Promise<void> },
): VolumeFiles {
  return {
    mountsWithin: (path) => run("volumes.mountsWithin", [path], [path]),
    mountMemory: (path, options) => run("volumes.mountMemory", [path, options], [path]),
    mountHugePages: (path, options) => run("volumes.mountHugePages", [path, options], [path]),
    bind: (source, target, options) =>
      run("volumes.bind", [source, target, options], [source, target]),
    makeShared: (path) => run("volumes.makeShared", [path], [path]),
    bindBeneath: (options) => run("volumes.bindBeneath", [options], [options.root, options.target]),
    mountDevice: (options) =>
      run("volumes.mountDevice", [options], [options.target, options.source]),
    mountServer: (mount) => servers.mount(mount),
    mapDevice: (source, target) => run("volumes.mapDevice", [source, target], [source, target]),
    unmapDevice: (target) => run("volumes.unmapDevice", [target], [target]),
    unmount: (path) => run("volumes.unmount", [path], [path]),
    writePayload: (folder, files, group) =>
      run("volumes.writePayload", [folder, files, group], [folder]),
    giveToGroup: (folder, options) => run("volumes.giveToGroup", [folder, options], [folder]),
    readBeneath: (root, relativePath, maxBytes) =>
      run("volumes.readBeneath", [root, relativePath, maxBytes], [root]),
    overwrite: (files) =>
      run(
        "volumes.overwrite",
        [files],
        files.map(({ path }) => path),
      ),
  };
}

/** Usage of file systems, asked by workers. */
export function createDiskUsage(
  run: RunInWorker,
): (path: string) => Promise<DiskUsage | undefined> {
  return (path) => run("disk.usage", [path], [path]);
}
