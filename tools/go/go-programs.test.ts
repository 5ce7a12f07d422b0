// Programs from Go modules: every family is pinned, and what stands in the way has words. Nothing is built here.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pinnedVersion } from "./build-programs.mjs";
import { builtName, FAMILIES, familyOf, isSuite } from "./families.mjs";
import { goCommand, goObstacle, goVersion, obstacleIn } from "./go-command.mjs";

const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);

test("every module file belongs to a family, requires its programs and has checksums", () => {
  assert.deepEqual(folders.toSorted(), Object.keys(FAMILIES).toSorted());
  for (const [family, { programs, module }] of Object.entries(FAMILIES)) {
    const text = readFileSync(join(import.meta.dirname, family, "go.mod"), "utf8");
    const sums = readFileSync(join(import.meta.dirname, family, "go.sum"), "utf8");
    for (const [name, path] of Object.entries(programs)) {
      // A package that is built as tests is no tool: a file imports it; and one of our own stands beside the file.
      const own = existsSync(join(import.meta.dirname, family, "main.go"));
      const named = own
        ? text.includes(`module ${path}\n`)
        : isSuite(name)
          ? readFileSync(join(import.meta.dirname, family, "suites.go"), "utf8").includes(
              `\t_ "${path}"\n`,
            )
          : new RegExp(`^(?:tool |\t)${path}$`, "m").test(text);
      assert.ok(named, `${family} builds ${path}`);
      assert.ok(sums.includes(`${module} ${pinnedVersion(name)} h1:`), name);
      assert.equal(familyOf(name), family);
    }
  }
  assert.throws(() => familyOf("vi"), /vi is none of kube-apiserver, /);
});

test("all parts of a release of Kubernetes have its version", () => {
  for (const family of folders.filter((name) => FAMILIES[name]?.module === "k8s.io/kubernetes")) {
    const text = readFileSync(join(import.meta.dirname, family, "go.mod"), "utf8");
    const [, patch = ""] = /k8s\.io\/kubernetes v1\.(\S+)/.exec(text) ?? [];
    const replaced = [...text.matchAll(/^\t(k8s\.io\/\S+) => (\S+) (\S+)$/gm)];
    assert.ok(replaced.length > 25, family);
    for (const [, from, to, version] of replaced)
      assert.deepEqual([to, version], [from, `v0.${patch}`], `${family}: ${from}`);
  }
});

test("programs of Kubernetes are given their version, as others that would not know it", () => {
  const variables = Object.fromEntries(FAMILIES["kubernetes"]?.variables?.("v1.37.2") ?? []);
  for (const module of ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"])
    assert.deepEqual(
      ["gitVersion", "gitMajor", "gitMinor", "gitTreeState"].map(
        (name) => variables[`${module}.${name}`],
      ),
      ["v1.37.2", "1", "37", "archive"],
    );
  assert.deepEqual(pinnedVersion("kubelet").split(".").slice(0, 2), ["v1", "37"]);
  assert.deepEqual(pinnedVersion("kubelet-1.36").split(".").slice(0, 2), ["v1", "36"]);
});

test("builtName is the last part of a path that is no major version", () => {
  for (const [path, name] of [
    ["k8s.io/kubernetes/cmd/kubelet", "kubelet"],
    ["go.etcd.io/etcd/server/v3", "server"],
    ["github.com/containerd/containerd/v2/cmd/ctr", "ctr"],
  ] as const)
    assert.equal(builtName(path), name);
});

test("Go is found on the PATH and asked for its version; where there is none, that is the obstacle", () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-go-"));
  try {
    mkdirSync(join(folder, "bin"));
    writeFileSync(join(folder, "bin/go"), "#!/bin/sh\necho go1.99\n", { mode: 0o755 });
    const environment = { PATH: `/nowhere:${join(folder, "bin")}` };
    const command = goCommand(environment);
    assert.equal(command, join(folder, "bin/go"));
    assert.equal(goObstacle(environment), undefined);
    assert.equal(goVersion(command ?? ""), "go1.99");
    writeFileSync(join(folder, "VERSION"), "go1.98.1\ntime 2026-01-01T00:00:00Z\n");
    assert.equal(goVersion(command ?? ""), "go1.98.1");
  } finally {
    rmSync(folder, { recursive: true });
  }
  const without = goObstacle({ PATH: "/nowhere" });
  assert.ok(without === undefined || without === "there is no Go on this machine");
});

test("obstacleIn separates what a machine does not have from defects", () => {
  for (const [output, expected] of [
    [
      'go: example.com/a@v1.2.0: Get "https://proxy.test/a": dial tcp: lookup proxy.test: no such host',
      /^Go's module registry gives nothing: go: example\.com\/a@v1\.2\.0: /,
    ],
    ["a@v1: module lookup disabled by GOPROXY=off", /module registry gives nothing/],
    [
      "go: go.mod requires go >= 1.26.0 (running go 1.19.8; GOTOOLCHAIN=local)",
      /^Go 1\.26\.0 or newer is needed, this machine has 1\.19\.8$/,
    ],
  ] as const)
    assert.match(obstacleIn(output) ?? "", expected);
  assert.equal(obstacleIn("main.go:1:1: expected 'package', found x"), undefined);
  assert.equal(obstacleIn("verifying a@v1: checksum mismatch"), undefined);
});
