import assert from "node:assert/strict";
import { test } from "node:test";
import { type Current, eventually, rejectsWith } from "./host-under-test.ts";
import { treeSizesContract } from "./tree-sizes-contract.ts";

const ALL = { maxBytes: 1 << 20 };

/** What every `Files` must do. */
export function filesContract(at: Current): void {
  fileContents(at);
  fileNames(at);
  fileTrees(at);
  treeSizesContract(at);
  fileWatching(at);
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

  test("link replaces a link, with ifTargetExists only by one whose target exists", async () => {
    const { host, folder } = at();
    const link = (target: string) =>
      host.files.link(`${folder}/${target}`, `${folder}/l`, { ifTargetExists: true });
    await host.files.writeAtomic(`${folder}/a`, "a", 0o600);
    await link("missing");
    assert.equal(await host.files.facts(`${folder}/l`), undefined);
    await link("a");
    assert.equal(await host.files.readText(`${folder}/l`, ALL), "a");
    await host.files.writeAtomic(`${folder}/b`, "b", 0o600);
    await link("b");
    assert.equal(await host.files.readText(`${folder}/l`, ALL), "b");
    await link("missing");
    assert.equal(await host.files.readText(`${folder}/l`, ALL), "b");
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
    assert.equal(await host.files.readTail(folder, "a", 100), "abcöde");
    assert.equal(await host.files.readTail(folder, "a", 4), "öde");
    assert.equal(await host.files.readTail(folder, "a", 3), "de");
    assert.equal(await host.files.readTail(folder, "a", 0), "");
    assert.equal(await host.files.readTail(folder, "no", 3), undefined);
    assert.equal(await host.files.readTail(`${folder}/no`, "no", 3), undefined);
    await rejectsWith(host.files.readTail(folder, ".", 3), "invalid");
  });

  test("readTail follows no link below its root: not of the file, not of a folder on the way", async () => {
    const { host, folder } = at();
    await host.files.makeDirectory(`${folder}/root/real`, 0o700);
    await host.files.writeAtomic(`${folder}/secret`, "secret", 0o600);
    await host.files.writeAtomic(`${folder}/root/real/a`, "own", 0o600);
    await host.files.link(`${folder}/secret`, `${folder}/root/real/file-link`);
    await host.files.link(`${folder}/root/real/a`, `${folder}/root/real/inner-link`);
    await host.files.link(`${folder}/root/real`, `${folder}/root/folder-link`);
    await host.files.link(`${folder}/root`, `${folder}/root-link`);
    assert.equal(await host.files.readTail(`${folder}/root`, "real/a", 9), "own");
    assert.equal(await host.files.readTail(`${folder}/root-link`, "real/a", 9), "own");
    for (const link of ["real/file-link", "real/inner-link", "folder-link/a", "folder-link"])
      await rejectsWith(host.files.readTail(`${folder}/root`, link, 9), "precondition");
    await rejectsWith(host.files.readTail(`${folder}/root`, "../secret", 9), "invalid");
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
    await rejectsWith(host.podFiles.removeTree("a"), "invalid");
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

  test("makeDirectories makes all in their order; the first that fails is named", async () => {
    const { host, folder } = at();
    const nested = [
      { path: `${folder}/a`, mode: 0o750 },
      { path: `${folder}/a/b`, mode: 0o700 },
    ];
    assert.deepEqual(await host.files.makeDirectories(nested.slice(0, 1)), [true]);
    assert.deepEqual(await host.files.makeDirectories(nested), [false, true]);
    assert.equal((await host.files.facts(`${folder}/a`))?.mode, 0o750);
    assert.equal((await host.files.facts(`${folder}/a/b`))?.mode, 0o700);
    await host.files.writeAtomic(`${folder}/f`, "", 0o600);
    const [bad, after] = [`${folder}/f`, `${folder}/after`];
    const folders = [bad, after].map((path) => ({ path, mode: 0o700 }));
    await assert.rejects(host.files.makeDirectories(folders), (error: Error) => {
      assert.ok(error.message.includes(bad), error.message);
      return true;
    });
    assert.equal(await host.files.facts(after), undefined);
  });

  test("factsOfAll gives each path's facts in order, or fails as a whole", async () => {
    const { host, folder } = at();
    await host.files.writeAtomic(`${folder}/f`, "123", 0o600);
    await host.files.link("f", `${folder}/l`);
    const paths = ["l", "no", "f"].map((name) => `${folder}/${name}`);
    const kinds = async (follow: boolean) =>
      (await host.files.factsOfAll(paths, { follow })).map((facts) => facts?.kind);
    assert.deepEqual(await kinds(false), ["link", undefined, "file"]);
    assert.deepEqual(await kinds(true), ["file", undefined, "file"]);
    assert.deepEqual(await host.files.factsOfAll([]), []);
    await rejectsWith(host.files.factsOfAll([...paths, "relative"]), "invalid");
  });

  test("list returns kinds, sorted by name; a missing folder or a file is undefined", async () => {
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

  test("facts describes a link or its target", async () => {
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

  test("listBeneath and changeBeneath follow no link on the way, and change their folder only", async () => {
    const { host, folder } = at();
    const { files } = host;
    await files.makeDirectory(`${folder}/root/a/b`, 0o700);
    await files.makeDirectory(`${folder}/other`, 0o700);
    for (const name of ["root/a/b/0", "root/a/b/1", "other/0"])
      await files.writeAtomic(`${folder}/${name}`, "text", 0o640);
    await files.link("0", `${folder}/root/a/b/l`);
    assert.deepEqual(
      (await files.listBeneath(`${folder}/root`, "a/b"))?.map(({ name, kind }) => [name, kind]),
      [
        ["0", "file"],
        ["1", "file"],
        ["l", "link"],
      ],
    );
    const sizes = await files.listBeneath(`${folder}/root`, "a/b");
    assert.equal(sizes?.[0]?.sizeBytes, 4);
    assert.equal(await files.listBeneath(`${folder}/root`, "a/none"), undefined);
    await files.changeBeneath(`${folder}/root`, "a/b", [
      { kind: "remove", name: "1" },
      { kind: "remove", name: "none" },
      { kind: "rename", from: "0", to: "2" },
    ]);
    assert.deepEqual(
      (await files.list(`${folder}/root/a/b`))?.map(({ name }) => name),
      ["2", "l"],
    );
    const [remove] = [{ kind: "remove", name: "0" } as const];
    await rejectsWith(files.changeBeneath(`${folder}/root`, "a/none", [remove]), "notFound");
    await files.link(`${folder}/other`, `${folder}/root/a/link`);
    await rejectsWith(files.listBeneath(`${folder}/root`, "a/link"), "precondition");
    await rejectsWith(files.changeBeneath(`${folder}/root`, "a/link", [remove]), "precondition");
    for (const name of ["../../../other/0", "..", ".", ""])
      await rejectsWith(
        files.changeBeneath(`${folder}/root`, "a/b", [{ kind: "remove", name }]),
        "invalid",
      );
    assert.equal(await files.readText(`${folder}/other/0`, ALL), "text");
  });

  test("a zipped file replaces its source and keeps its mode; links are refused", async () => {
    const { host, folder } = at();
    const text = "line after line\n".repeat(10_000);
    const zip = (name: string) => host.files.changeBeneath(folder, "", [{ kind: "zip", name }]);
    await host.files.writeAtomic(`${folder}/log.1`, text, 0o640);
    await host.files.writeAtomic(`${folder}/kept`, text, 0o640);
    await zip("log.1");
    await zip("none");
    assert.deepEqual(
      (await host.files.list(folder))?.map(({ name, kind }) => `${kind} ${name}`),
      ["file kept", "file log.1.gz"],
    );
    assert.equal((await host.files.facts(`${folder}/log.1.gz`))?.mode, 0o640);
    await host.files.link(`${folder}/kept`, `${folder}/link`);
    await rejectsWith(zip("link"), "precondition");
    assert.equal(await host.files.facts(`${folder}/link.gz`), undefined);
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
    await host.podFiles.removeTree(`${folder}/tree`);
    assert.equal(await host.files.facts(`${folder}/tree`), undefined);
    assert.equal(await host.files.readText(`${folder}/outside/precious`, ALL), "kept");
  });

  test("removeTree of a link takes the link, of a file the file, of nothing nothing", async () => {
    const { host, folder } = at();
    await host.files.makeDirectory(`${folder}/outside/a`, 0o700);
    await host.files.link(`${folder}/outside`, `${folder}/l`);
    await host.files.writeAtomic(`${folder}/f`, "", 0o600);
    for (const name of ["l", "f", "no", "no/deeper"]) {
      await host.podFiles.removeTree(`${folder}/${name}`);
    }
    assert.deepEqual(await host.files.list(folder), [{ name: "outside", kind: "directory" }]);
    assert.equal((await host.files.list(`${folder}/outside`))?.length, 1);
  });
}

function fileWatching(at: Current) {
  test("watchDirectory makes the folder, reports entries, survives removal, ends with the signal", async () => {
    const { host, folder } = at();
    const watched = `${folder}/plugins`;
    const stop = new AbortController();
    let calls = 0;
    host.files.watchDirectory(
      watched,
      () => {
        calls += 1;
      },
      stop.signal,
    );
    const reports = async (what: string, change: () => Promise<void>) => {
      const before = calls;
      await change();
      await eventually(`a call for ${what}`, () => calls > before);
    };
    await eventually("a call at the beginning", () => calls > 0);
    assert.equal((await host.files.facts(watched))?.kind, "directory");
    await reports("a file", () => host.files.writeAtomic(`${watched}/a`, "", 0o600));
    await reports("a socket", () => at().addSocket(`${watched}/s`));
    await reports("a removal", () => host.files.remove(`${watched}/a`));
    await reports("the end of the folder", () => host.podFiles.removeTree(watched));
    await host.files.makeDirectory(watched, 0o700);
    let name = 0;
    const before = calls;
    for (let tries = 0; tries < 100 && calls === before; tries += 1) {
      name += 1;
      await host.files.writeAtomic(`${watched}/b${name}`, "", 0o600);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.ok(calls > before, "no call for the folder that was recreated");
    stop.abort();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const atEnd = calls;
    await host.files.writeAtomic(`${watched}/late`, "", 0o600);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(calls, atEnd);
  });
}
