// The command line of `npm run conformance`: what is asked for, and what is refused in words that help.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { GROUPS } from "./groups.ts";
import { focusOn, guestArguments, parseConformanceOptions, UsageProblem } from "./options.ts";

test("without words, the whole parallel group runs on this checkout", () => {
  const { group, kubelet, procs, whole, selection } = parseConformanceOptions([]);
  assert.deepEqual(
    { group, kubelet, procs, whole },
    {
      group: "node",
      kubelet: { kind: "nodelet" },
      procs: GROUPS.node.procs,
      whole: true,
    },
  );
  assert.deepEqual(selection, GROUPS.node.selection);
});

test("a focus, a filter, a list or what failed is only a part", () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-conformance-"));
  try {
    const list = join(folder, "list");
    writeFileSync(list, "# comment\n\n[sig-node] Pods [It] should (a+b)\n");
    for (const argv of [
      ["--focus", "x"],
      ["--skip", "x"],
      ["--label-filter", "x"],
      ["--list", list],
      ["--failed"],
      ["--rest"],
    ]) {
      const { whole, completes } = parseConformanceOptions(argv);
      assert.deepEqual([whole, completes], [false, argv.join() === "--rest"], argv.join(" "));
    }
    const { selection } = parseConformanceOptions(["--list", list]);
    assert.deepEqual(selection, {
      focus: ["\\[sig-node\\] Pods \\[It\\] should \\(a\\+b\\)$"],
      skip: [],
    });
    writeFileSync(list, "\n");
    assert.throws(() => parseConformanceOptions(["--list", list]), /names no specs/);
  } finally {
    rmSync(folder, { recursive: true });
  }
  const { selection } = parseConformanceOptions(["--focus", "x", "--skip", "y"]);
  assert.deepEqual(selection, { focus: ["x"], skip: [...GROUPS.node.selection.skip, "y"] });
});

test("a further run that counts is one of the whole group", () => {
  assert.equal(parseConformanceOptions(["node-serial", "--again"]).again, true);
  assert.equal(parseConformanceOptions([]).again, false);
  assert.throws(() => parseConformanceOptions(["--again", "--rest"]), /--again runs the whole/);
});

test("a guest gets the same command line, and the folder of the list", () => {
  const argv = "node --focus a --guest --cpus 4 --keep --focus=-c --list /x/y".split(" ");
  assert.deepEqual(guestArguments(argv), {
    words: ["node", "--focus=a", "--focus=-c", "--keep", "--list=/x/y"],
    folders: ["/x"],
  });
  assert.deepEqual(guestArguments(["--guest"]), { words: [], folders: [] });
  assert.deepEqual(guestArguments(["--guest", "--failed"], "/x/y"), {
    words: ["--list=/x/y"],
    folders: ["/x"],
  });
});

test("reports go to a folder of the cache, or to one that is named", () => {
  assert.equal(parseConformanceOptions([]).results, undefined);
  assert.equal(parseConformanceOptions(["--results=/a/../b"]).results, "/b");
});

test("names become expressions that match nothing else", () => {
  const [expression = ""] = focusOn(["a.b [c] (d|e)*"]);
  assert.match("a.b [c] (d|e)*", new RegExp(`^${expression}$`));
  assert.doesNotMatch("axb [c] (d|e)*", new RegExp(`^${expression}$`));
  assert.doesNotMatch("a.b [c] (d|e)* and more", new RegExp(expression));
});

test("other kubelets are named or given by their path", () => {
  assert.deepEqual(parseConformanceOptions(["--kubelet", "go"]).kubelet, { kind: "go" });
  assert.deepEqual(parseConformanceOptions(["--kubelet", "/a/kubelet"]).kubelet, {
    kind: "path",
    path: "/a/kubelet",
  });
});

test("what cannot be is refused and says why", () => {
  for (const [argv, message] of [
    [["everything"], /everything is no group: node, /],
    [["node", "more"], /is no group/],
    [["--procs", "0"], /--procs 0: a number from 1 to 64/],
    [["--procs", "many"], /--procs many/],
    [["--guest", "--cpus", "9"], /--cpus 9: a number from 1 to 8/],
    [["--cpus", "4"], /--cpus sets the CPUs of a guest: add --guest/],
    [["--list", "/nowhere"], /--list \/nowhere: ENOENT/],
    [["--kubelet", ""], /--kubelet expects/],
    [["--oci-runtime", "youki"], /--oci-runtime youki: runc or crun is needed/],
    [["--unknown"], /usage: npm run conformance/],
  ] as const)
    assert.throws(
      () => parseConformanceOptions(argv),
      (error) => error instanceof UsageProblem && message.test(error.message),
      argv.join(" "),
    );
});
