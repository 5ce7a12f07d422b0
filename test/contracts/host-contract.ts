import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { isOutside, type OutsideCode } from "../../src/kit/errors.ts";
import type { CgroupTree, Host } from "../../src/outside/host/host.ts";

/** A host with room for one test. */
export interface HostUnderTest {
  readonly host: Host;
  /** An empty folder. */
  readonly folder: string;
  /** Path of a control group that does not exist, whose parent does. */
  readonly group: string;
  /** Puts a socket at a path. */
  readonly addSocket: (path: string) => Promise<void>;
  /** Starts a process in a group. */
  readonly addProcess: (group: string) => Promise<number>;
  /** Whether the process still runs. */
  readonly isAlive: (pid: number) => boolean;
  /** Removes all that the test made. */
  readonly dispose: () => Promise<void>;
}

/** What every `Host` must do. `make` is called once for each test. */
export function hostContract(name: string, make: () => Promise<HostUnderTest>): void {
  let at: HostUnderTest;
  const current = () => at;
  describe(`${name} keeps the contract of a host`, () => {
    beforeEach(async () => {
      at = await make();
    });
    afterEach(() => at.dispose());
    fileContents(current);
    fileNames(current);
    fileTrees(current);
    fileWatching(current);
    groupLives(current);
    groupValues(current);
    groupProcesses(current);
    factsAndDisk(current);
  });
}

type Current = () => HostUnderTest;

const ALL = { maxBytes: 1 << 20 };

async function rejectsWith(work: Promise<unknown>, code: OutsideCode, text?: string) {
  await assert.rejects(work, (thrown: unknown) => {
    assert.ok(isOutside(thrown, code), `${String(thrown)} is not OutsideError "${code}"`);
    if (text !== undefined) assert.ok(thrown.message.includes(text), thrown.message);
    return true;
  });
}

/** Lets the world run until `test` holds. */
async function eventually(what: string, test: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1000 && !test(); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.ok(test(), `never: ${what}`);
}

function fileContents(at: Current) {
  test("writeAtomic makes and replaces, with the mode, and leaves nothing beside", async () => {
    const { host, folder } = at();
    await host.files.writeAtomic(`${folder}/a`, "one", 0o600);
    await host.files.writeAtomic(`${folder}/a`, Buffer.from("zwölf"), 0o666);
    assert.equal(await host.files.readText(`${folder}/a`, ALL), "zwölf");
    const facts = await host.files.facts(`${folder}/a`);
    assert.deepEqual([facts?.kind, facts?.sizeBytes, facts?.mode], ["file", 6, 0o666]);
    assert.deepEqual(await host.files.list(folder), [{ name: "a", kind: "file" }]);
  });

  test("writeAtomic replaces a link, not what it leads to", async () => {
    const { host, folder } = at();
    await host.files.writeAtomic(`${folder}/target`, "kept", 0o600);
    await host.files.link(`${folder}/target`, `${folder}/a`);
    await host.files.writeAtomic(`${folder}/a`, "new", 0o600);
    assert.equal(await host.files.readText(`${folder}/target`, ALL), "kept");
    assert.equal((await host.files.facts(`${folder}/a`))?.kind, "file");
  });

  test("writeAtomic into a missing folder is notFound, onto a folder precondition", async () => {
    const { host, folder } = at();
    await rejectsWith(host.files.writeAtomic(`${folder}/no/a`, "x", 0o600), "notFound", folder);
    await host.files.makeDirectory(`${folder}/d`, 0o700);
    await rejectsWith(host.files.writeAtomic(`${folder}/d`, "x", 0o600), "precondition");
    assert.deepEqual(await host.files.list(folder), [{ name: "d", kind: "directory" }]);
  });

  test("readText gives undefined for what is missing and refuses what is too long", async () => {
    const { host, folder } = at();
    assert.equal(await host.files.readText(`${folder}/no`, ALL), undefined);
    await host.files.writeAtomic(`${folder}/a`, "12345", 0o600);
    assert.equal(await host.files.readText(`${folder}/a/b`, ALL), undefined);
    assert.equal(await host.files.readText(`${folder}/a`, { maxBytes: 5 }), "12345");
    await rejectsWith(host.files.readText(`${folder}/a`, { maxBytes: 4 }), "exhausted", "/a");
    await rejectsWith(host.files.readText(folder, ALL), "invalid");
  });

  test("readTail gives the end, from the beginning of a character", async () => {
    const { host, folder } = at();
    await host.files.writeAtomic(`${folder}/a`, "abcöde", 0o600);
    assert.equal(await host.files.readTail(`${folder}/a`, 100), "abcöde");
    assert.equal(await host.files.readTail(`${folder}/a`, 4), "öde");
    assert.equal(await host.files.readTail(`${folder}/a`, 3), "de");
    assert.equal(await host.files.readTail(`${folder}/a`, 0), "");
    assert.equal(await host.files.readTail(`${folder}/no`, 3), undefined);
    await rejectsWith(host.files.readTail(folder, 3), "invalid");
  });

  test("append makes the file with the mode once and adds to it", async () => {
    const { host, folder } = at();
    await host.files.append(`${folder}/log`, "a\n", 0o662);
    await host.files.append(`${folder}/log`, "b\n", 0o600);
    assert.equal(await host.files.readText(`${folder}/log`, ALL), "a\nb\n");
    assert.equal((await host.files.facts(`${folder}/log`))?.mode, 0o662);
    await rejectsWith(host.files.append(`${folder}/no/log`, "x", 0o600), "notFound");
  });

  test("paths that are not absolute are refused", async () => {
    const { host } = at();
    await rejectsWith(host.files.readText("a", ALL), "invalid");
    await rejectsWith(host.files.writeAtomic("a", "", 0o600), "invalid");
    await rejectsWith(host.files.removeTree("a"), "invalid");
  });
}

function fileNames(at: Current) {
  test("makeDirectory makes all above and sets the mode, also of an existing one", async () => {
    const { host, folder } = at();
    await host.files.makeDirectory(`${folder}/a/b`, 0o700);
    await host.files.makeDirectory(`${folder}/a/b`, 0o2770);
    assert.equal((await host.files.facts(`${folder}/a/b`))?.mode, 0o2770);
    await host.files.writeAtomic(`${folder}/f`, "", 0o600);
    await rejectsWith(host.files.makeDirectory(`${folder}/f`, 0o700), "alreadyExists");
    await rejectsWith(host.files.makeDirectory(`${folder}/f/g`, 0o700), "notFound");
  });

  test("list tells kinds, sorted by name; a missing folder or a file is undefined", async () => {
    const { host, folder, addSocket } = at();
    await host.files.makeDirectory(`${folder}/d`, 0o700);
    await host.files.writeAtomic(`${folder}/f`, "", 0o600);
    await host.files.link("f", `${folder}/b-link`);
    await addSocket(`${folder}/a-socket`);
    assert.deepEqual(await host.files.list(folder), [
      { name: "a-socket", kind: "socket" },
      { name: "b-link", kind: "link" },
      { name: "d", kind: "directory" },
      { name: "f", kind: "file" },
    ]);
    assert.equal(await host.files.list(`${folder}/no`), undefined);
    assert.equal(await host.files.list(`${folder}/f`), undefined);
  });

  test("facts tells of a link or of its target", async () => {
    const { host, folder } = at();
    await host.files.writeAtomic(`${folder}/f`, "123", 0o600);
    await host.files.link("f", `${folder}/l`);
    await host.files.link("nowhere", `${folder}/broken`);
    assert.equal((await host.files.facts(`${folder}/l`))?.kind, "link");
    assert.equal((await host.files.facts(`${folder}/l`, { follow: true }))?.sizeBytes, 3);
    assert.equal((await host.files.facts(`${folder}/broken`))?.kind, "link");
    assert.equal(await host.files.facts(`${folder}/broken`, { follow: true }), undefined);
    assert.equal(await host.files.facts(`${folder}/no`), undefined);
    assert.equal(await host.files.readText(`${folder}/l`, ALL), "123");
  });

  test("link replaces a link or file, never a folder", async () => {
    const { host, folder } = at();
    await host.files.writeAtomic(`${folder}/f`, "f", 0o600);
    await host.files.writeAtomic(`${folder}/g`, "g", 0o600);
    await host.files.link("f", `${folder}/l`);
    await host.files.link("g", `${folder}/l`);
    assert.equal(await host.files.readText(`${folder}/l`, ALL), "g");
    await host.files.makeDirectory(`${folder}/d`, 0o700);
    await rejectsWith(host.files.link("f", `${folder}/d`), "precondition");
    assert.equal((await host.files.list(folder))?.length, 4);
  });

  test("rename moves and replaces; from nothing it is notFound", async () => {
    const { host, folder } = at();
    await host.files.writeAtomic(`${folder}/a`, "a", 0o600);
    await host.files.writeAtomic(`${folder}/b`, "b", 0o600);
    await host.files.rename(`${folder}/a`, `${folder}/b`);
    assert.equal(await host.files.readText(`${folder}/b`, ALL), "a");
    assert.equal(await host.files.facts(`${folder}/a`), undefined);
    await rejectsWith(host.files.rename(`${folder}/a`, `${folder}/c`), "notFound");
    await host.files.makeDirectory(`${folder}/d/e`, 0o700);
    await rejectsWith(host.files.rename(`${folder}/b`, `${folder}/d`), "precondition");
  });

  test("remove takes a file, link or empty folder; nothing is fine, a full folder is not", async () => {
    const { host, folder } = at();
    await host.files.writeAtomic(`${folder}/f`, "", 0o600);
    await host.files.link("f", `${folder}/l`);
    await host.files.makeDirectory(`${folder}/d/e`, 0o700);
    await host.files.remove(`${folder}/l`);
    assert.deepEqual(
      (await host.files.list(folder))?.map(({ name }) => name),
      ["d", "f"],
    );
    await rejectsWith(host.files.remove(`${folder}/d`), "precondition");
    for (const name of ["f", "d/e", "d", "no", "f/x"]) await host.files.remove(`${folder}/${name}`);
    assert.deepEqual(await host.files.list(folder), []);
  });
}

function fileTrees(at: Current) {
  test("removeTree takes all beneath and follows no link", async () => {
    const { host, folder } = at();
    await host.files.makeDirectory(`${folder}/outside`, 0o700);
    await host.files.writeAtomic(`${folder}/outside/precious`, "kept", 0o600);
    await host.files.makeDirectory(`${folder}/tree/a/b/c`, 0o700);
    await host.files.writeAtomic(`${folder}/tree/a/b/file`, "", 0o600);
    await host.files.link(`${folder}/outside`, `${folder}/tree/a/link`);
    await host.files.link("nowhere", `${folder}/tree/broken`);
    await host.files.removeTree(`${folder}/tree`);
    assert.equal(await host.files.facts(`${folder}/tree`), undefined);
    assert.equal(await host.files.readText(`${folder}/outside/precious`, ALL), "kept");
  });

  test("removeTree of a link takes the link, of a file the file, of nothing nothing", async () => {
    const { host, folder } = at();
    await host.files.makeDirectory(`${folder}/outside/a`, 0o700);
    await host.files.link(`${folder}/outside`, `${folder}/l`);
    await host.files.writeAtomic(`${folder}/f`, "", 0o600);
    for (const name of ["l", "f", "no", "no/deeper"]) {
      await host.files.removeTree(`${folder}/${name}`);
    }
    assert.deepEqual(await host.files.list(folder), [{ name: "outside", kind: "directory" }]);
    assert.equal((await host.files.list(`${folder}/outside`))?.length, 1);
  });
}

function fileWatching(at: Current) {
  test("watchDirectory makes the folder, tells of entries, survives removal, ends with the signal", async () => {
    const { host, folder } = at();
    const watched = `${folder}/plugins`;
    const stop = new AbortController();
    let told = 0;
    host.files.watchDirectory(
      watched,
      () => {
        told += 1;
      },
      stop.signal,
    );
    const tells = async (what: string, change: () => Promise<void>) => {
      const before = told;
      await change();
      await eventually(`word of ${what}`, () => told > before);
    };
    await eventually("word of the beginning", () => told > 0);
    assert.equal((await host.files.facts(watched))?.kind, "directory");
    await tells("a file", () => host.files.writeAtomic(`${watched}/a`, "", 0o600));
    await tells("a socket", () => at().addSocket(`${watched}/s`));
    await tells("a removal", () => host.files.remove(`${watched}/a`));
    await tells("the end of the folder", () => host.files.removeTree(watched));
    await host.files.makeDirectory(watched, 0o700);
    let name = 0;
    const before = told;
    for (let tries = 0; tries < 100 && told === before; tries += 1) {
      name += 1;
      await host.files.writeAtomic(`${watched}/b${name}`, "", 0o600);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.ok(told > before, "no word from the folder that was made anew");
    stop.abort();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const atEnd = told;
    await host.files.writeAtomic(`${watched}/late`, "", 0o600);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(told, atEnd);
  });
}

function groupLives(at: Current) {
  test("create makes all levels, exists and children see them, destroy takes them", async () => {
    const { host, group } = at();
    const tree = host.cgroups;
    assert.equal(await tree.exists(group), false);
    assert.deepEqual(await tree.children(group), []);
    await tree.create(`${group}/b/deep`);
    await tree.create(`${group}/a`);
    await tree.create(`${group}/a`);
    assert.equal(await tree.exists(`${group}/b/deep`), true);
    assert.deepEqual(await tree.children(group), ["a", "b"]);
    await tree.destroy(group);
    await tree.destroy(group);
    assert.equal(await tree.exists(`${group}/b/deep`), false);
    assert.equal(await tree.exists(group), false);
  });

  test("paths and file names that lead elsewhere are refused, and the root stays", async () => {
    const { host, group } = at();
    const tree = host.cgroups;
    await rejectsWith(tree.create(`${group}/../x`), "invalid");
    await rejectsWith(tree.create("relative"), "invalid");
    await rejectsWith(tree.destroy("/"), "invalid");
    await rejectsWith(tree.destroy(`${group}/..`), "invalid");
    await rejectsWith(tree.read("/", "../cpu.shares"), "invalid");
    await rejectsWith(tree.write("/", "a/b", "1"), "invalid");
  });
}

/** Values as written and as the kernel spells them. */
const VALUES: Readonly<Record<1 | 2, readonly (readonly [string, string, string])[]>> = {
  1: [
    ["cpu.shares", "3072", "3072"],
    ["cpu.shares", "1", "2"],
    ["cpu.shares", "999999999", "262144"],
    ["cpu.cfs_period_us", "50000", "50000"],
    ["cpu.cfs_quota_us", "25000", "25000"],
    ["cpu.cfs_quota_us", "-1", "-1"],
    ["memory.limit_in_bytes", "1073741824", "1073741824"],
    ["memory.limit_in_bytes", "1073741825", "1073741824"],
    ["memory.limit_in_bytes", "-1", "9223372036854771712"],
    ["pids.max", "77", "77"],
    ["pids.max", "max", "max"],
  ],
  2: [
    ["cpu.weight", "39", "39"],
    ["cpu.max", "25000 50000", "25000 50000"],
    ["cpu.max", "max", "max 50000"],
    ["memory.max", "1073741825", "1073741824"],
    ["memory.max", "max", "max"],
    ["memory.high", "8192", "8192"],
    ["memory.low", "4097", "4096"],
    ["pids.max", "77", "77"],
    ["pids.max", "max", "max"],
  ],
};

const REFUSED: Readonly<Record<1 | 2, readonly (readonly [string, string])[]>> = {
  1: [
    ["cpu.shares", "many"],
    ["cpu.cfs_quota_us", "10"],
    ["cpu.cfs_period_us", "10"],
    ["pids.max", "-5"],
  ],
  2: [
    ["cpu.weight", "0"],
    ["cpu.weight", "10001"],
    ["cpu.max", "10 100000"],
    ["memory.max", "lots"],
    ["pids.max", "-5"],
  ],
};

function hasController(tree: CgroupTree, file: string): boolean {
  return tree.controllers.has(file.slice(0, file.indexOf(".")));
}

function groupValues(at: Current) {
  test("values read back in the kernel's spelling", async () => {
    const { host, group } = at();
    const tree = host.cgroups;
    await tree.create(group);
    for (const [file, written, read] of VALUES[tree.version]) {
      if (!hasController(tree, file)) continue;
      await tree.write(group, file, written);
      assert.equal(await tree.read(group, file), read, `${file} = ${written}`);
    }
  });

  test("what the kernel refuses is an error that names group and file", async () => {
    const { host, group } = at();
    const tree = host.cgroups;
    await tree.create(group);
    for (const [file, value] of REFUSED[tree.version]) {
      if (!hasController(tree, file)) continue;
      const before = await tree.read(group, file);
      await assert.rejects(tree.write(group, file, value), (thrown: unknown) => {
        assert.ok(isOutside(thrown, "invalid", "exhausted"), `${file} = ${value}: ${thrown}`);
        assert.ok(thrown.message.includes(group) && thrown.message.includes(file), thrown.message);
        return true;
      });
      assert.equal(await tree.read(group, file), before);
    }
  });

  test("missing groups and files read as undefined and cannot be written", async () => {
    const { host, group } = at();
    const tree = host.cgroups;
    const file = tree.version === 1 ? "cpu.shares" : "cgroup.freeze";
    assert.equal(await tree.read(group, file), undefined);
    await rejectsWith(tree.write(group, file, "1"), "notFound", group);
    await tree.create(group);
    assert.equal(await tree.read(group, "memory.no_such_file"), undefined);
    assert.equal(await tree.read(group, "nosuch.controller"), undefined);
    await rejectsWith(tree.write(group, "nosuch.controller", "1"), "notFound", group);
  });
}

function groupProcesses(at: Current) {
  test("processes sees all beneath, destroy ends them and takes the groups", async () => {
    const { host, group, addProcess, isAlive } = at();
    const tree = host.cgroups;
    await tree.create(`${group}/a/inner`);
    await tree.create(`${group}/b`);
    assert.deepEqual(await tree.processes(group), []);
    const inner = await addProcess(`${group}/a/inner`);
    const other = await addProcess(`${group}/b`);
    const all = [inner, other].sort((a, b) => a - b);
    assert.deepEqual(await tree.processes(group), all);
    assert.deepEqual(await tree.processes(`${group}/a`), [inner]);
    assert.equal((await host.process(inner))?.pid, inner);
    const groups = Object.values((await host.process(inner))?.cgroups ?? {});
    assert.ok(
      groups.some((path) => path.endsWith(`${group}/a/inner`)),
      groups.join(),
    );
    await tree.destroy(`${group}/a`);
    await eventually("the end of the inner process", () => !isAlive(inner));
    assert.equal(isAlive(other), true);
    await tree.destroy(group);
    await eventually("the end of the other process", () => !isAlive(other));
    assert.equal(await tree.exists(group), false);
    assert.deepEqual(await tree.processes(group), []);
    assert.equal(await host.process(inner), undefined);
  });
}

function factsAndDisk(at: Current) {
  test("facts say what a node must know", async () => {
    const facts = await at().host.facts();
    assert.ok(facts.cpuCount >= 1 && facts.memoryBytes > 0 && facts.pidMax > 0);
    assert.ok(facts.kernelVersion && facts.osImage && facts.hostname && facts.bootId);
    assert.match(facts.architecture, /^(amd64|arm64)$/);
  });

  test("diskUsage measures the file system of a path", async () => {
    const { host, folder } = at();
    const usage = await host.diskUsage(folder);
    assert.ok(usage && usage.capacityBytes > 0 && usage.availableBytes <= usage.capacityBytes);
    assert.ok(usage.inodesFree <= usage.inodes);
    assert.equal(await host.diskUsage(`${folder}/no`), undefined);
  });
}
