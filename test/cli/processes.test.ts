// The command as a process: as kubelet, in a shell, under a closed pipe.
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "../..");
const MAIN = join(ROOT, "src/main.ts");
const folder = mkdtempSync(join(tmpdir(), "nodelet-process-"));
after(async () => {
  // Agents make their root folder a shared mount.
  for (const name of ["kubelet", "nodelet"])
    await run("umount", [join(folder, `${name}-root`)]).catch(() => {});
  rmSync(folder, { recursive: true });
});

const environment = (more: Record<string, string> = {}) => ({
  PATH: `${folder}:${process.env["PATH"] ?? ""}`,
  HOME: folder,
  TERM: "xterm",
  // Else each process compiles the whole program again.
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? join(folder, "compiled"),
  ...more,
});

// What `bin/nodelet` is in a package: something on the PATH that starts the program.
writeFileSync(join(folder, "nodelet"), `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n`);
chmodSync(join(folder, "nodelet"), 0o755);

async function nodelet(argv: readonly string[], env: Record<string, string> = {}) {
  const options = { env: environment(env) };
  return await run(process.execPath, [MAIN, ...argv], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
}

const AS_KUBELET = { NODELET_INVOKED_AS: "kubelet" };

test("as kubelet it says its version as a kubelet does", async () => {
  const { code, stdout, stderr } = await nodelet(["--version"], AS_KUBELET);
  assert.deepEqual([code, stderr], [0, ""]);
  // The shape that kubeadm and node problem detectors match.
  assert.match(stdout, /^Kubernetes v1\.37\.\d+\+nodelet\.\d+\.\d+\.\d+\n$/);
  const raw = await nodelet(["--version=raw"], AS_KUBELET);
  assert.match(raw.stdout, /^version\.Info\{Major:"1", Minor:"37", GitVersion:"v1\.37\./);
  assert.equal((await nodelet(["run", "--version"])).stdout, stdout);
  const followed = await nodelet(["run", "--compat=1.36", "--version"]);
  assert.match(followed.stdout, /^Kubernetes v1\.36\.\d+\+nodelet\./);
});

test("as kubelet it takes the kubelet's flags, and shows them", async () => {
  const help = await nodelet(["--help"], AS_KUBELET);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /^Usage: kubelet \[flags\]$/m);
  assert.match(help.stdout, /^ {6}--pod-manifest-path /m);
  assert.match((await nodelet(["run", "--help"])).stdout, /^Usage: nodelet run \[flags\]$/m);
  const wrong = await nodelet(["--max-pods=many", "--no-such"], AS_KUBELET);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /^kubelet: command line: --max-pods: invalid argument "many"/m);
  assert.match(wrong.stderr, /^kubelet: command line: --no-such: unknown flag/m);
  assert.doesNotMatch(wrong.stderr, /^ +at /m);
});

/** Resolves with what `read` gives as soon as that is not undefined. */
async function until<T>(read: () => T | undefined): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const value = read();
    if (value !== undefined) return value;
    assert.ok(performance.now() < deadline, "it takes too long");
    await sleep(20);
  }
}

const ended = (child: ChildProcess) =>
  new Promise<number | null>((done) => child.once("exit", (code) => done(code)));

const effectiveConfigs = (text: string) =>
  text.split("\n").filter((line) => line.includes('"Effective KubeletConfiguration" config='));

test("a configuration that is refused is in the log, one that cannot be read is not", async () => {
  const path = join(folder, "refused.yaml");
  const head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
  writeFileSync(path, `${head}maxPods: -7\n`);
  const refused = await nodelet(["run", `--config=${path}`]);
  assert.equal(refused.code, 2);
  assert.match(effectiveConfigs(refused.stderr)[0] ?? "", /\\nmaxPods: -7\\n/);
  assert.match(refused.stderr, /^nodelet run: .*maxPods: Invalid value: -7/m);
  writeFileSync(path, `${head}maxPods: many\n`);
  const unreadable = await nodelet(["run", `--config=${path}`]);
  assert.equal(unreadable.code, 2);
  assert.deepEqual(effectiveConfigs(unreadable.stderr), []);
});

for (const name of ["kubelet", "nodelet"])
  test(`the agent is called ${name}, shows its flags, waits for the runtime and ends on SIGTERM`, async () => {
    const config = join(folder, `${name}.yaml`);
    writeFileSync(
      config,
      `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://${join(folder, "none.sock")}
staticPodURL: http://127.0.0.1:1/manifests
staticPodURLHeader: {Authorization: [Bearer not-for-the-log]}
failCgroupV1: false
failSwapOn: false
enableServer: false
`,
    );
    const flags = [
      `--root-dir=${join(folder, `${name}-root`)}`,
      `--config=${config}`,
      "--healthz-port=0",
    ];
    const argv = name === "kubelet" ? flags : ["run", ...flags];
    const child = spawn(process.execPath, [MAIN, ...argv], {
      env: environment({ NODELET_INVOKED_AS: name, NODELET_SOCKET: join(folder, `${name}.sock`) }),
      stdio: ["ignore", "ignore", "pipe"],
    });
    const code = ended(child);
    let reported = "";
    child.stderr.on("data", (chunk: Buffer) => {
      reported += chunk.toString("utf8");
    });
    await until(() => (reported.includes("waiting for the container runtime") ? true : undefined));
    assert.equal(readFileSync(`/proc/${child.pid}/comm`, "utf8"), `${name}\n`);
    const commandLine = readFileSync(`/proc/${child.pid}/cmdline`, "utf8");
    assert.match(commandLine, /--root-dir=/);
    if (name === "kubelet")
      assert.equal(commandLine.replace(/\0+$/, ""), ["kubelet", ...flags].join(" "));
    const [line = ""] = effectiveConfigs(reported);
    assert.match(line, /\\nenableServer: false\\n.*\\nhealthzPort: 0\\n.*\\nmaxPods: 110\\n/);
    assert.match(line, /\\nstaticPodURLHeader:\\n +Authorization:\\n +- .{0,2}<masked>/);
    assert.doesNotMatch(reported, /not-for-the-log/);
    child.kill("SIGTERM");
    assert.equal(await code, 0, reported);
  });

test("`nodelet | head` ends without a complaint", async () => {
  const { stdout } = await run(
    "bash",
    [
      "-c",
      `set -o pipefail; nodelet completion bash 2>err.txt | head -1; echo "$? $(cat err.txt)"`,
    ],
    { cwd: folder, env: environment() },
  );
  assert.match(stdout, /^# bash completion of nodelet.*\n0 \n$/);
});

/** What bash puts on the line for the words, asked as bash itself asks. */
async function bashReply(line: string): Promise<string[]> {
  const script = `
    source <(nodelet completion bash)
    read -ra COMP_WORDS <<<"$LINE"
    case $LINE in *' ') COMP_WORDS+=('') ;; esac
    COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
    compopt() { echo "compopt $*"; }
    _nodelet
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run("bash", ["--norc", "-c", script], {
    env: environment({ LINE: line, NODELET_SOCKET: join(folder, "none.sock") }),
  });
  return stdout.trim().split("\n");
}

test("bash is given what fits, without what it means", async () => {
  assert.deepEqual(await bashReply("nodelet desc"), ["describe"]);
  assert.deepEqual(await bashReply("nodelet get pods --out"), ["--output"]);
  assert.deepEqual(await bashReply("nodelet get pods --output = y"), ["yaml"]);
  assert.deepEqual(await bashReply("nodelet get pods --output = "), [
    "wide",
    "json",
    "yaml",
    "name",
  ]);
  assert.deepEqual(await bashReply("nodelet up --config "), ["compopt -o default"]);
  assert.deepEqual(await bashReply("nodelet get pods "), [""]);
});

test("an interactive bash completes on Tab", async () => {
  // A terminal of its own, as bash completes nowhere else.
  const child = spawn("script", ["-qec", "bash --noprofile --norc -i", "/dev/null"], {
    env: environment({ PS1: "ready> " }),
    stdio: ["pipe", "pipe", "inherit"],
  });
  let seen = "";
  child.stdout.on("data", (chunk: Buffer) => {
    seen += chunk.toString("utf8");
  });
  const code = ended(child);
  await until(() => (seen.includes("ready> ") ? true : undefined));
  child.stdin.write("source <(nodelet completion bash) && echo sour''ced\n");
  await until(() => (seen.includes("sourced") ? true : undefined));
  child.stdin.write("nodelet compl\tfi\t");
  await until(() => (/nodelet completion fish /.test(seen) ? true : undefined));
  child.stdin.write("\nexit\n");
  await code;
  assert.match(seen, /# fish completion of nodelet/);
});

/** Files that are loaded with `file` at once: what is imported on demand comes later. */
function loadedWith(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file)) return found;
  found.add(file);
  const text = readFileSync(file, "utf8");
  for (const [, name = ""] of text.matchAll(
    /^(?:import|export) (?!type )[^;]*?from "([^"]+)";/gm,
  )) {
    if (name.startsWith(".")) loadedWith(resolve(dirname(file), name), found);
    else found.add(name);
  }
  return found;
}

test("the agent loads nothing that only the command line needs", () => {
  const agent = [...loadedWith(join(ROOT, "src/process/run.ts"))];
  assert.ok(agent.some((name) => name.endsWith("src/agent.ts")));
  const foreign = agent.filter(
    (name) =>
      name === "commander" ||
      name === "ws" ||
      /src\/cli\/(commands|render|up|down|client)\//.test(name),
  );
  assert.deepEqual(foreign, []);
  assert.deepEqual(
    [...loadedWith(MAIN)].filter((name) => name !== MAIN && !name.startsWith("node:")),
    [],
  );
});
