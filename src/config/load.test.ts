import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FIELDS } from "./fields/fields.ts";
import { reportIdleSettings } from "./idle-report.ts";
import { type ConfigFiles, loadConfig } from "./load.ts";
import { ADVICE, FAILURES, HEAD, PRECEDENCE } from "./load.vectors.ts";
import { formatOrigin, locateProblem, type Origin, type Origins } from "./origins.ts";
import { formatConfigProblem } from "./problem.ts";
import { getAt } from "./tree.ts";

/** Files by absolute path; folders follow from them. */
function filesOf(texts: Readonly<Record<string, string | Error>>): ConfigFiles {
  const paths = Object.keys(texts);
  return {
    readText(path, { maxBytes }) {
      const text = texts[path];
      if (text instanceof Error) return Promise.reject(text);
      if (text !== undefined && text.length > maxBytes)
        return Promise.reject(new Error("too long"));
      return Promise.resolve(text);
    },
    list(folder) {
      const below = paths.filter((path) => path.startsWith(`${folder}/`));
      if (below.length === 0) return Promise.resolve(undefined);
      const names = new Set(below.map((path) => path.slice(folder.length + 1).split("/")[0] ?? ""));
      // Not sorted on purpose.
      return Promise.resolve(
        [...names].toReversed().map((name) => ({
          name,
          kind: texts[`${folder}/${name}`] === undefined ? "directory" : "file",
        })),
      );
    },
  };
}

const load = (argv: readonly string[], texts: Readonly<Record<string, string | Error>> = {}) =>
  loadConfig(argv, filesOf(texts), { cwd: "/work" });

async function problemsOf(argv: readonly string[], texts: Record<string, string | Error> = {}) {
  return (await load(argv, texts)).problems.map(formatConfigProblem);
}

test("defaults < file < drop-ins < flags", async () => {
  for (const { name, base, dropIns, argv, path, value, origin } of PRECEDENCE) {
    const texts: Record<string, string> = {};
    const all = [...(argv ?? [])];
    if (base !== undefined) {
      texts["/work/c.yaml"] = `${HEAD}${base}\n`;
      all.push("--config=c.yaml");
    }
    for (const [file, text] of Object.entries(dropIns ?? {})) {
      texts[`/work/d/${file}`] = `${HEAD}${text}\n`;
      if (!all.includes("--config-dir=d")) all.push("--config-dir=d");
    }
    const loaded = await load(all, texts);
    assert.deepEqual(loaded.problems.map(formatConfigProblem), [], name);
    assert.deepEqual(getAt(loaded.config as never, path), value, name);
    if (origin === "") continue;
    const found = loaded.origins.get(path);
    assert.ok(found !== undefined, name);
    assert.equal(formatOrigin(found), origin, name);
  }
});

test("every field has an origin", async () => {
  const { origins } = await load([]);
  for (const { path } of FIELDS) assert.deepEqual(origins.get(path), { kind: "default" });
});

test("origins reach down to entries of maps, with lines", async () => {
  const { origins } = await load(
    ["--config=/c", "--config-dir=/d", "--feature-gates=PodsAPI=true"],
    {
      "/c": `${HEAD}evictionHard:\n  memory.available: 1Gi\nfeatureGates:\n  MemoryQoS: true\n`,
      "/d/a.conf": `${HEAD}evictionHard: {pid.available: 5%}\n`,
    },
  );
  assert.deepEqual(origins.get("evictionHard[memory.available]"), {
    kind: "file",
    path: "/c",
    line: 4,
  });
  assert.deepEqual(origins.get("evictionHard[pid.available]"), {
    kind: "dropIn",
    path: "/d/a.conf",
    line: 3,
  });
  assert.deepEqual(origins.get("featureGates[MemoryQoS]"), { kind: "file", path: "/c", line: 6 });
  assert.deepEqual(origins.get("featureGates[PodsAPI]"), { kind: "flag", flag: "feature-gates" });
});

test("origins of entries go when a flag replaces the map or a drop-in takes them away", async () => {
  const { origins } = await load(["--config=/c", "--config-dir=/d", "--kube-reserved=pid=100"], {
    "/c": `${HEAD}kubeReserved: {cpu: 100m}\nsystemReserved: {cpu: 1, memory: 1Gi}\nevictionSoft: null\n`.replace(
      "1,",
      '"1",',
    ),
    "/d/a.conf": `${HEAD}systemReserved: {cpu: null}\n`,
    "/d/b.conf": `${HEAD}qosReserved: {memory: 5%}\n`,
    "/d/c.conf": `${HEAD}qosReserved: null\n`,
  });
  assert.equal(origins.has("kubeReserved[cpu]"), false);
  assert.deepEqual(origins.get("kubeReserved[pid]"), { kind: "flag", flag: "kube-reserved" });
  assert.equal(origins.has("systemReserved[cpu]"), false);
  assert.equal(origins.get("systemReserved[memory]")?.kind, "file");
  assert.equal(origins.has("qosReserved[memory]"), false);
  assert.deepEqual(origins.get("qosReserved"), { kind: "default" });
});

test("the place of a problem is where the value or what is around it was set", () => {
  const origins: Origins = new Map<string, Origin>([
    ["port", { kind: "flag", flag: "port" }],
    ["maxPods", { kind: "default" }],
    ["evictionHard", { kind: "file", path: "/c", line: 3 }],
    ["evictionHard[a.b]", { kind: "dropIn", path: "/d" }],
  ]);
  assert.deepEqual(locateProblem(origins, "port"), { source: "--port" });
  assert.equal(locateProblem(origins, "maxPods"), undefined);
  assert.equal(locateProblem(origins, "unheard[of].here"), undefined);
  assert.deepEqual(locateProblem(origins, "evictionHard[a.b]"), { source: "/d" });
  assert.deepEqual(locateProblem(origins, "evictionHard[x]"), { source: "/c", line: 3 });
});

test("without --config the difference to the Go kubelet is logged", async () => {
  assert.match((await load([])).warnings.join("\n"), /started without --config/);
  assert.match((await load([])).warnings.join("\n"), /--anonymous-auth=true/);
  const withFile = await load(["--config=/c"], { "/c": HEAD });
  assert.deepEqual(withFile.warnings, []);
});

test("relative paths start at the file's folder in the file, at the working folder elsewhere", async () => {
  const { config, flags } = await load(
    [
      "--config=/etc/k/c.yaml",
      "--kubeconfig=kubeconfig",
      "--root-dir=../root",
      "--client-ca-file=ca.pem",
    ],
    {
      "/etc/k/c.yaml": `${HEAD}staticPodPath: manifests\ntlsCertFile: ../tls/c.pem\ntlsPrivateKeyFile: /abs/k.pem\npodLogsDir: logs\n`,
    },
  );
  assert.equal(config.staticPodPath, "/etc/k/manifests");
  assert.equal(config.tlsCertFile, "/etc/tls/c.pem");
  assert.equal(config.tlsPrivateKeyFile, "/abs/k.pem");
  assert.equal(config.podLogsDir, "/etc/k/logs");
  assert.equal(config.authentication.x509.clientCAFile, "/work/ca.pem");
  assert.equal(flags.kubeconfig, "/work/kubeconfig");
  assert.equal(flags.rootDir, "/root");
  assert.equal(flags.config, "/etc/k/c.yaml");
});

test("what the user got wrong is returned with its place, and nothing is thrown", async () => {
  for (const [argv, texts, problems] of FAILURES) {
    assert.deepEqual(await problemsOf(argv, texts), problems, argv.join(" "));
  }
});

test("problems of all files and flags come together", async () => {
  const problems = await problemsOf(["--config=/c", "--config-dir=/d", "--max-pods=x", "--nope"], {
    "/c": `${HEAD}prot: 5\nmaxPods: a\n`,
    "/d/a.conf": `${HEAD}hairpinMode: x\n`,
    "/d/b.conf": "nothing",
  });
  assert.equal(problems.length, 6);
});

test("settings without effect are reported when they differ from the default", async () => {
  const { noEffect } = await load(["--config=/c", "--hairpin-mode=hairpin-veth"], {
    "/c": `${HEAD}volumePluginDir: /x\nenableProfilingHandler: true\nmaxPods: 5\niptablesDropBit: 3\n`,
  });
  assert.deepEqual(
    noEffect.map(({ path, effect, origin }) => [path, effect, formatOrigin(origin)]),
    [
      ["hairpinMode", "planned", "--hairpin-mode"],
      ["volumePluginDir", "planned", "/c"],
      ["iptablesDropBit", "inert", "/c"],
    ],
  );
  assert.deepEqual(reportIdleSettings(noEffect), [
    "these settings have no effect in nodelet yet: hairpinMode (--hairpin-mode), volumePluginDir (/c)",
    "these settings have no effect in any kubelet: iptablesDropBit (/c)",
  ]);
  assert.deepEqual(reportIdleSettings([]), []);
});

test("what can be used but should be thought over gives a warning", async () => {
  for (const [body, advice] of ADVICE) {
    const loaded = await load(["--config=/c"], { "/c": `${HEAD}${body}\n` });
    assert.deepEqual(loaded.problems, [], body);
    assert.equal(loaded.warnings.length, 1, body);
    assert.match(loaded.warnings[0] ?? "", advice);
  }
});

test("folders nest and files count only so far", async () => {
  const deep = `/d${"/x".repeat(20)}/a.conf`;
  assert.match(
    (await problemsOf(["--config-dir=/d"], { [deep]: HEAD })).join(),
    /nest deeper than 16/,
  );
  const many = Object.fromEntries(
    Array.from({ length: 1002 }, (_, i) => [`/d/${String(i).padStart(4, "0")}.conf`, HEAD]),
  );
  assert.match(
    (await problemsOf(["--config-dir=/d"], many)).join(),
    /more than 1000 drop-in files/,
  );
});

/** A field as a document: `a.b` and `v` make `a: {b: v}`. */
function written(path: string, value: string): string {
  const [first = "", ...rest] = path.split(".");
  const inner = rest.reduceRight((text, name) => `{${name}: ${text}}`, value);
  return `${HEAD}${first}: ${inner}\n`;
}

test("every field answers values of any shape with problems, none throws", async () => {
  const odd = ["null", "{}", "[null]", "[{}]", "[1]", "{a: {}}"];
  for (const { path } of FIELDS)
    for (const value of odd) {
      const text = written(path, value);
      const { problems, config } = await load(["--config=/c"], { "/c": text });
      for (const problem of problems) assert.notEqual(formatConfigProblem(problem), "", text);
      assert.equal(typeof config.maxPods, "number", text);
    }
});

test("an entry that is not written in full, or wrong, is reported once", async () => {
  const text = `${HEAD}registerWithTaints: [{}, {key: [a], effect: NoSchedule}]\n`;
  const { problems } = await load(["--config=/c"], { "/c": text });
  const [first, ...rest] = problems.map(formatConfigProblem);
  const expected = "expected a string, got a list";
  assert.equal(first, `/c:3: registerWithTaints[1].key: Invalid value: ["a"]: ${expected}`);
  for (const line of rest) assert.match(line, /^\/c:3: registerWithTaints\[0\]\.key: .*name part/);
  assert.equal(rest.length, 2);
});

test("any text at all in files is answered with problems", async () => {
  const text = fc.oneof(
    fc.string(),
    fc.json().map((json) => `${HEAD}logging: ${json}\nevictionHard: ${json}\n`),
    fc
      .constantFrom(...FIELDS.map(({ path }) => path))
      .chain((path) => fc.json().map((json) => written(path, json))),
  );
  await fc.assert(
    fc.asyncProperty(text, text, async (base, dropIn) => {
      const { problems, config } = await load(["--config=/c", "--config-dir=/d"], {
        "/c": base,
        "/d/a.conf": dropIn,
      });
      for (const problem of problems) assert.notEqual(formatConfigProblem(problem), "");
      assert.equal(typeof config.maxPods, "number");
      assert.equal(typeof config.logging.format, "string");
    }),
  );
});

test("compat names the release, in a file, a drop-in or a flag, which wins", async () => {
  const files = {
    "/c": `${HEAD}compat: "1.36"\nfeatureGates: {SidecarContainers: true}\n`,
    "/d/a.conf": `${HEAD}compat: null\nfeatureGates: {SidecarContainers: null}\n`,
  };
  const gateOf = async (...argv: readonly string[]) => {
    const { problems, gates, config } = await load(argv, files);
    assert.deepEqual(problems.map(formatConfigProblem), [], argv.join(" "));
    return [gates.isEnabled("PodsAPI"), config.memoryThrottlingFactor];
  };
  assert.deepEqual(await gateOf(), [true, undefined]);
  assert.deepEqual(await gateOf("--compat=1.36"), [false, 0.9]);
  assert.deepEqual(await gateOf("--config=/c"), [false, 0.9]);
  assert.deepEqual(await gateOf("--config=/c", "--config-dir=/d"), [true, undefined]);
  assert.deepEqual(await gateOf("--config=/c", "--config-dir=/d", "--compat=1.36"), [false, 0.9]);
  assert.deepEqual(await problemsOf(["--config=/c", "--compat=1.37"], files), [
    "/c:4: featureGates[SidecarContainers]: unrecognized feature gate: SidecarContainers (remove it: since Kubernetes 1.37 its feature is always on; --compat=1.36 still takes it)",
  ]);
  assert.deepEqual(await problemsOf(["--compat=1.35"]), [
    '--compat: compat: Unsupported value: "1.35": supported values: "1.36", "1.37"',
  ]);
});
