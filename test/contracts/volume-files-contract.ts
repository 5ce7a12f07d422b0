import assert from "node:assert/strict";
import { test } from "node:test";
import type { PayloadFile } from "../../src/outside/host/host.ts";
import { type Current, rejectsWith } from "./host-under-test.ts";

const ALL = { maxBytes: 1 << 20 };

const file = (path: string, text: string, mode = 0o644): PayloadFile => ({
  path,
  content: Buffer.from(text),
  mode,
});

/** What every `VolumeFiles` must do. */
export function volumeFilesContract(at: Current): void {
  mounting(at);
  sharing(at);
  mountingDevices(at);
  mappingDevices(at);
  bindingBeneath(at);
  payloads(at);
  otherFiles(at);
}

function mounting(at: Current) {
  test("mountMemory covers a folder, mountsWithin lists it, unmount removes it", async () => {
    const { host, folder } = at();
    await host.files.makeDirectory(`${folder}/a/m`, 0o755);
    await host.files.makeDirectory(`${folder}/ab`, 0o755);
    await host.volumes.mountMemory(`${folder}/a/m`, { sizeBytes: 1 << 20 });
    await host.files.writeAtomic(`${folder}/a/m/x`, "x", 0o644);
    const [mount, ...more] = await host.volumes.mountsWithin(`${folder}/a`);
    assert.deepEqual([mount?.path, mount?.fsType, more.length], [`${folder}/a/m`, "tmpfs", 0]);
    assert.ok(mount?.options.includes("size=1024k"), String(mount?.options));
    assert.equal((await host.volumes.mountsWithin(`${folder}/ab`)).length, 0);
    await rejectsWith(host.podFiles.removeTree(`${folder}/a`), "precondition");
    await host.volumes.unmount(`${folder}/a/m`);
    await host.volumes.unmount(`${folder}/a/m`);
    assert.deepEqual(await host.files.list(`${folder}/a/m`), []);
    await host.podFiles.removeTree(`${folder}/a`);
  });

  test("mountHugePages mounts pages of one size", async (t) => {
    const { host, folder } = at();
    await host.files.makeDirectory(`${folder}/h`, 0o755);
    const [pages] = (await host.facts()).hugepages;
    if (!pages) return t.skip("the kernel has no huge pages");
    const { sizeBytes } = pages;
    await host.volumes.mountHugePages(`${folder}/h`, { pageBytes: sizeBytes, sizeBytes });
    const [mount] = await host.volumes.mountsWithin(`${folder}/h`);
    assert.equal(mount?.fsType, "hugetlbfs");
    await host.volumes.unmount(`${folder}/h`);
  });

  test("bind shows a folder elsewhere", async () => {
    const { host, folder } = at();
    await host.files.makeDirectory(`${folder}/from`, 0o755);
    await host.files.makeDirectory(`${folder}/to`, 0o755);
    await host.volumes.bind(`${folder}/from`, `${folder}/to`);
    await host.files.writeAtomic(`${folder}/from/x`, "seen", 0o644);
    assert.equal(await host.files.readText(`${folder}/to/x`, ALL), "seen");
    await host.volumes.unmount(`${folder}/to`);
    assert.equal(await host.files.readText(`${folder}/to/x`, ALL), undefined);
  });
}

function sharing(at: Current) {
  test("makeShared leaves what is below a folder as it is, and does nothing the second time", async () => {
    const { host, folder } = at();
    await host.files.makeDirectory(`${folder}/root/a`, 0o755);
    await host.files.writeAtomic(`${folder}/root/a/x`, "seen", 0o644);
    await host.volumes.makeShared(`${folder}/root`);
    assert.equal(await host.volumes.makeShared(`${folder}/root`), false);
    assert.equal(await host.files.readText(`${folder}/root/a/x`, ALL), "seen");
    await host.volumes.unmount(`${folder}/root`);
  });
}

const NO_DEVICES = "the machine has no loop devices to spare";

function mountingDevices(at: Current) {
  test("mountDevice formats an empty device once, and what is on it stays", async (t) => {
    const { host, folder, addDevice } = at();
    if (!(await addDevice(`${folder}/disk`))) return t.skip(NO_DEVICES);
    const target = `${folder}/m`;
    await host.files.makeDirectory(target, 0o750);
    const options = { source: `${folder}/disk`, target, fsType: "ext4", options: ["noatime"] };
    const readOnly = { ...options, options: ["ro"] };
    await rejectsWith(
      host.volumes.mountDevice(readOnly),
      "precondition",
      `cannot mount unformatted disk ${folder}/disk`,
    );
    await host.volumes.mountDevice(options);
    await host.volumes.mountDevice(options);
    assert.equal((await host.volumes.mountsWithin(target)).length, 1);
    await host.files.writeAtomic(`${target}/f`, "kept", 0o600);
    await host.volumes.unmount(target);
    assert.equal(await host.files.facts(`${target}/f`), undefined);
    const other = host.volumes.mountDevice({ ...options, fsType: "xfs" });
    await rejectsWith(other, "invalid", "mount failed");
    await host.volumes.mountDevice(readOnly);
    const [mount] = await host.volumes.mountsWithin(target);
    assert.deepEqual([mount?.fsType, mount?.readOnly], ["ext4", true]);
    assert.equal(await host.files.readText(`${target}/f`, ALL), "kept");
    await host.volumes.unmount(target);
  });

  test("mountDevice requires a device, and refuses one that has replaced it", async (t) => {
    const { host, folder, addDevice } = at();
    const target = `${folder}/m`;
    const mount = (name: string) => {
      const options = { target, fsType: "ext4", options: [] };
      return host.volumes.mountDevice({ ...options, source: `${folder}/${name}` });
    };
    await host.files.makeDirectory(target, 0o750);
    await rejectsWith(mount("m"), "precondition", "is not a block device");
    if (!(await addDevice(`${folder}/one`))) return t.skip(NO_DEVICES);
    await addDevice(`${folder}/other`);
    await mount("one");
    await rejectsWith(mount("other"), "precondition", "another device");
    await host.volumes.unmount(target);
  });

  test("bind takes options", async () => {
    const { host, folder } = at();
    await host.files.makeDirectory(`${folder}/from`, 0o755);
    await host.files.makeDirectory(`${folder}/to`, 0o755);
    await host.volumes.bind(`${folder}/from`, `${folder}/to`, ["noexec", "ro"]);
    const mounts = await host.volumes.mountsWithin(`${folder}/to`);
    assert.deepEqual(
      mounts.map(({ readOnly }) => readOnly),
      [true],
    );
    await host.files.writeAtomic(`${folder}/from/x`, "seen", 0o644);
    assert.equal(await host.files.readText(`${folder}/to/x`, ALL), "seen");
    await host.volumes.unmount(`${folder}/to`);
  });
}

function mappingDevices(at: Current) {
  test("mapDevice shows a device and keeps it when its name becomes another's", async (t) => {
    const { host, folder, addDevice } = at();
    const number = await addDevice(`${folder}/disk`);
    if (number === undefined) return t.skip(NO_DEVICES);
    const target = `${folder}/maps/pv/uid`;
    assert.deepEqual(await host.volumes.mapDevice(`${folder}/disk`, target), {
      number,
      isNew: true,
    });
    assert.equal((await host.files.facts(target))?.device, "block");
    await host.files.remove(`${folder}/disk`);
    const other = await addDevice(`${folder}/disk`);
    assert.notEqual(other, number);
    const again = { number, isNew: false };
    assert.deepEqual(await host.volumes.mapDevice(`${folder}/disk`, target), again);
    const paths = (await host.volumes.mountsWithin(`${folder}/maps`)).map(({ path }) => path);
    assert.deepEqual(paths, [target]);
    await host.volumes.unmapDevice(target);
    await host.volumes.unmapDevice(target);
    assert.deepEqual(await host.files.list(`${folder}/maps/pv`), []);
    assert.deepEqual(await host.volumes.mountsWithin(`${folder}/maps`), []);
  });

  test("mapDevice makes half of a mapping whole", async (t) => {
    const { host, folder, addDevice } = at();
    const number = await addDevice(`${folder}/disk`);
    await addDevice(`${folder}/other`);
    if (number === undefined) return t.skip(NO_DEVICES);
    const target = `${folder}/maps/uid`;
    await host.files.makeDirectory(`${folder}/maps`, 0o750);
    await host.files.writeAtomic(target, "", 0o600);
    // Shown but not held: by now the number may be anybody's.
    await host.volumes.bind(`${folder}/other`, target);
    const mapped = await host.volumes.mapDevice(`${folder}/disk`, target);
    assert.deepEqual(mapped, { number, isNew: true });
    assert.equal((await host.volumes.mountsWithin(`${folder}/maps`)).length, 1);
    await host.volumes.unmapDevice(target);
    assert.deepEqual(await host.volumes.mountsWithin(`${folder}/maps`), []);
    assert.deepEqual(await host.files.list(`${folder}/maps`), []);
  });

  test("mapDevice requires a device and leaves nothing behind when it is refused", async () => {
    const { host, folder } = at();
    await host.files.writeAtomic(`${folder}/file`, "text", 0o600);
    const map = host.volumes.mapDevice(`${folder}/file`, `${folder}/maps/uid`);
    await rejectsWith(map, "precondition", "is not a block device");
    assert.equal(await host.files.facts(`${folder}/maps/uid`), undefined);
    await host.files.makeDirectory(`${folder}/maps`, 0o755);
    await host.files.writeAtomic(`${folder}/maps/old`, "", 0o600);
    await host.volumes.unmapDevice(`${folder}/maps/old`);
    assert.equal(await host.files.facts(`${folder}/maps/old`), undefined);
  });
}

function bindingBeneath(at: Current) {
  test("bindBeneath makes missing folders and follows links that stay inside", async () => {
    const { host, folder } = at();
    const root = `${folder}/v`;
    await host.files.makeDirectory(`${root}/real/deep`, 0o755);
    await host.files.writeAtomic(`${root}/real/deep/f`, "inside", 0o644);
    await host.files.link("real", `${root}/link`);
    await host.files.link("../link/deep/f", `${root}/real/up`);
    const options = { root, createMode: 0o751 };
    for (const [i, relativePath] of ["link/deep", "real/up", "new/folder"].entries())
      await host.volumes.bindBeneath({ ...options, relativePath, target: `${folder}/t/${i}` });
    assert.equal(await host.files.readText(`${folder}/t/0/f`, ALL), "inside");
    assert.equal(await host.files.readText(`${folder}/t/1`, ALL), "inside");
    assert.equal((await host.files.facts(`${root}/new/folder`))?.mode, 0o751);
    // Asked for again, the same place stays and another one takes its turn.
    await host.volumes.bindBeneath({
      ...options,
      relativePath: "link/deep",
      target: `${folder}/t/0`,
    });
    await host.volumes.bindBeneath({
      ...options,
      relativePath: "new/folder",
      target: `${folder}/t/0`,
    });
    assert.deepEqual(await host.files.list(`${folder}/t/0`), []);
    const paths = (await host.volumes.mountsWithin(`${folder}/t`)).map(({ path }) => path);
    assert.deepEqual(
      paths.toSorted(),
      [0, 1, 2].map((i) => `${folder}/t/${i}`),
    );
    for (const path of paths) await host.volumes.unmount(path);
  });

  test("bindBeneath never leaves the volume", async () => {
    const { host, folder } = at();
    const root = `${folder}/v`;
    await host.files.makeDirectory(`${root}/d`, 0o755);
    await host.files.makeDirectory(`${folder}/secret`, 0o755);
    await host.files.writeAtomic(`${root}/f`, "", 0o644);
    await host.files.link("/etc", `${root}/absolute`);
    await host.files.link("../../secret", `${root}/d/relative`);
    await host.files.link("loop", `${root}/loop`);
    const bind = (relativePath: string, createMode?: number) =>
      host.volumes.bindBeneath({
        root,
        relativePath,
        target: `${folder}/t`,
        ...(createMode === undefined ? {} : { createMode }),
      });
    await rejectsWith(bind("absolute"), "invalid");
    await rejectsWith(bind("absolute/passwd"), "invalid");
    await rejectsWith(bind("d/relative"), "invalid");
    await rejectsWith(bind("d/../../secret"), "invalid");
    await rejectsWith(bind("loop"), "invalid");
    await rejectsWith(bind("f/below", 0o755), "precondition");
    await rejectsWith(bind("missing"), "notFound");
    assert.equal((await host.volumes.mountsWithin(folder)).length, 0);
  });
}

function payloads(at: Current) {
  test("writePayload shows files through ..data and replaces all of them in one step", async () => {
    const { host, folder } = at();
    const read = (path: string) => host.files.readText(`${folder}/${path}`, ALL);
    const first = [file("a", "1"), file("b/c", "2", 0o400)];
    assert.equal(await host.volumes.writePayload(folder, first), true);
    assert.equal(await host.volumes.writePayload(folder, first), false);
    assert.deepEqual([await read("a"), await read("b/c")], ["1", "2"]);
    assert.equal((await host.files.facts(`${folder}/b/c`, { follow: true }))?.mode, 0o400);
    assert.equal(await host.volumes.writePayload(folder, [file("b/c", "2", 0o440)]), true);
    assert.equal(await read("a"), undefined);
    assert.equal((await host.files.facts(`${folder}/b/c`, { follow: true }))?.mode, 0o440);
    const names = ((await host.files.list(folder)) ?? []).map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => !/^\.\.\d/.test(name)),
      ["..data", "b"],
    );
    assert.equal(names.length, 3, names.join());
    await host.volumes.writePayload(folder, []);
    assert.equal(await read("b/c"), undefined);
  });

  test("writePayload refuses names that lead elsewhere", async () => {
    const { host, folder } = at();
    await host.files.makeDirectory(`${folder}/v`, 0o755);
    const write = host.volumes.writePayload(`${folder}/v`, [file("../x", "")]);
    await rejectsWith(write, "invalid");
    assert.equal(await host.files.facts(`${folder}/x`), undefined);
  });

  test("writePayload leaves alone what others put into the volume", async () => {
    const { host, folder } = at();
    await host.files.writeAtomic(`${folder}/foreign`, "kept", 0o644);
    await host.volumes.writePayload(folder, [file("a", "1")]);
    await host.volumes.writePayload(folder, [file("b", "1")]);
    assert.equal(await host.files.readText(`${folder}/foreign`, ALL), "kept");
  });
}

function otherFiles(at: Current) {
  test("readBeneath reads inside the volume only", async () => {
    const { host, folder } = at();
    await host.files.makeDirectory(`${folder}/v`, 0o755);
    await host.files.writeAtomic(`${folder}/v/f`, "text", 0o600);
    await host.files.writeAtomic(`${folder}/outside`, "secret", 0o600);
    await host.files.link("f", `${folder}/v/link`);
    await host.files.link(`${folder}/outside`, `${folder}/v/out`);
    const read = (path: string) => host.volumes.readBeneath(`${folder}/v`, path, 100);
    assert.equal(await read("f"), "text");
    assert.equal(await read("link"), "text");
    assert.equal(await read("none"), undefined);
    await rejectsWith(read("out"), "invalid");
    await rejectsWith(host.volumes.readBeneath(`${folder}/v`, "f", 3), "exhausted");
  });

  test("overwrite makes and changes files, up to the first that it cannot write", async () => {
    const { host, folder } = at();
    for (const text of ["a long text", "short"]) {
      await host.volumes.overwrite([
        { path: `${folder}/hosts`, text, mode: 0o644 },
        { path: `${folder}/other`, text, mode: 0o600 },
      ]);
      assert.equal(await host.files.readText(`${folder}/hosts`, ALL), text);
      assert.equal(await host.files.readText(`${folder}/other`, ALL), text);
    }
    assert.equal((await host.files.facts(`${folder}/hosts`))?.mode, 0o644);
    assert.equal((await host.files.facts(`${folder}/other`))?.mode, 0o600);
    const places = ["hosts", "missing/hosts", "other"];
    const files = places.map((place) => ({ path: `${folder}/${place}`, text: "new", mode: 0o644 }));
    await rejectsWith(host.volumes.overwrite(files), "notFound");
    assert.equal(await host.files.readText(`${folder}/hosts`, ALL), "new");
    assert.equal(await host.files.readText(`${folder}/other`, ALL), "short");
  });

  test("overwrite makes the folder when asked to", async () => {
    const { host, folder } = at();
    const path = `${folder}/a/b/log`;
    const file = { path, text: "", mode: 0o666 };
    await rejectsWith(host.volumes.overwrite([file]), "notFound");
    for (const text of ["", "again"])
      await host.volumes.overwrite([{ path, text, mode: 0o666, folderMode: 0o750 }]);
    assert.equal(await host.files.readText(path, ALL), "again");
    assert.equal((await host.files.facts(`${folder}/a/b`))?.mode, 0o750);
  });

  test("giveToGroup requires an existing folder", async () => {
    const { host, folder } = at();
    const options = { groupId: 1234, readOnly: false };
    await host.volumes.giveToGroup(folder, options);
    await rejectsWith(host.volumes.giveToGroup(`${folder}/none`, options), "notFound");
  });
}
