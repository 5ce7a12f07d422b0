// The files of a hardened node: written by `nodelet harden`, tightened by the agent, judged by `nodelet config review`.
import assert from "node:assert/strict";
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runCommand } from "../../src/cli/cli.ts";
import { loadConfig } from "../../src/config/load.ts";
import { silentLog } from "../../src/kit/log.ts";
import { connectMachine } from "../../src/outside/connect.ts";
import { tightenNodeFiles } from "../../src/process/node-files.ts";
import { fakeIo } from "./fake-io.ts";

async function run(...argv: readonly string[]) {
  const io = fakeIo();
  const code = await runCommand(argv, io, () => new AbortController().signal);
  return { code, out: io.out(), err: io.err() };
}

test("`nodelet harden` keeps what the file sets and adds what the benchmark asks for", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-harden-"));
  try {
    const config = join(folder, "config.yaml");
    const head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    const given =
      "maxPods: 20\nauthentication: {webhook: {cacheTTL: 1m0s}}\nfeatureGates: {QOSReserved: true}\n";
    writeFileSync(config, head + given, { mode: 0o644 });
    const output = join(folder, "hardened.yaml");
    const made = await run("harden", "--config", config, "-o", output);
    assert.equal(made.code, 0, made.err);
    assert.equal(statSync(output).mode & 0o777, 0o600);
    const text = readFileSync(output, "utf8");
    for (const line of [/^maxPods: 20$/m, /cacheTTL: 1m0s/, /QOSReserved: true/, /clientCAFile: /])
      assert.match(text, line);
    const { code, out } = await run("config", "review", "--config", output);
    const failed = [...out.matchAll(/^(4\S+) +no /gm)].map(([, id = ""]) => id);
    // Whoever runs this test owns the file.
    assert.deepEqual(
      failed.filter((id) => !/^4\.1\.|4\.2\.15/.test(id)),
      [],
      out,
    );
    assert.equal(code, failed.length === 0 ? 0 : 1);
    assert.match((await run("harden", "--config", config)).out, /^seccompDefault: true$/m);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the agent tightens keys and credentials that are looser than the benchmark allows, and no others", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-tighten-"));
  try {
    const at = (name: string) => join(folder, name);
    const head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    const config = `${head}authentication: {x509: {clientCAFile: ${at("ca.crt")}}}\n`;
    const files: Readonly<Record<string, readonly [text: string, before: number, after: number]>> =
      {
        "config.yaml": [config, 0o644, 0o644],
        "kubelet.conf": ["", 0o640, 0o600],
        "bootstrap.conf": ["", 0o400, 0o400],
        "ca.crt": ["", 0o666, 0o644],
        other: ["", 0o666, 0o666],
      };
    for (const [name, [text, before]] of Object.entries(files)) {
      writeFileSync(at(name), text);
      chmodSync(at(name), before);
    }
    symlinkSync("kubelet.conf", at("link.conf"));
    const argv = [
      `--config=${at("config.yaml")}`,
      `--kubeconfig=${at("link.conf")}`,
      `--bootstrap-kubeconfig=${at("bootstrap.conf")}`,
    ];
    const loaded = await loadConfig(argv, connectMachine(silentLog).host.files, { cwd: "/" });
    assert.deepEqual(loaded.problems, []);
    const reported: string[] = [];
    const looser: string[] = [];
    const log = {
      ...silentLog,
      warn: (message: string, fields?: object) => {
        if (message.startsWith("tightened")) reported.push(JSON.stringify(fields));
        if (message.endsWith("; run chmod")) looser.push(JSON.stringify(fields));
      },
    };
    await tightenNodeFiles(loaded, log);
    const configFields = JSON.stringify({ path: at("config.yaml"), from: "0644", to: "0600" });
    assert.deepEqual(looser, [configFields]);
    for (const [name, [, , after]] of Object.entries(files))
      assert.equal(statSync(at(name)).mode & 0o777, after, name);
    assert.deepEqual(reported.toSorted(), [
      JSON.stringify({ path: at("ca.crt"), from: "0666", to: "0644" }),
      JSON.stringify({ path: at("link.conf"), from: "0640", to: "0600" }),
    ]);
    reported.length = 0;
    await tightenNodeFiles(loaded, log);
    assert.deepEqual(reported, []);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
