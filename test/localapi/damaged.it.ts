// A local API whose files are damaged: the agent runs without it, no pod notices, and it comes back when it can.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Box, withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { BoxedAgent, manifest, STAY } from "../support/agent.ts";
import { PROGRAM } from "../support/program.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { accessIn } from "./local-api.ts";

const API = "/var/lib/kubelet/api";
const DATABASE = `${API}/objects.db`;
/** Takes longer when several attempts have failed: pauses grow. */
const BACK_MS = 60_000 * TIMEOUT_FACTOR;

type Damage = (file: string, box: Box) => unknown;

const DAMAGES: Readonly<Record<string, readonly [apply: Damage, why: RegExp]>> = {
  missing: [(file) => rmSync(file), /missing or empty/],
  empty: [(file) => writeFileSync(file, ""), /missing or empty/],
  "cut off": [
    (file) => writeFileSync(file, readFileSync(file).subarray(0, 6_000)),
    /damaged|malformed|not a database/,
  ],
  garbage: [(file) => writeFileSync(file, "garbage ".repeat(5_000)), /not a database/],
  folder: [
    (file) => {
      rmSync(file);
      mkdirSync(file);
    },
    /EISDIR|unable to open|is a directory/i,
  ],
  "input/output error": [
    (_, box) => box.run(["mount", "--bind", "/proc/1/mem", DATABASE]),
    /missing or empty|I\/O|unable to open|not a database|not permitted/i,
  ],
  "newer layout": [
    (_, box) => sql(box, "PRAGMA user_version = 9; PRAGMA wal_checkpoint(TRUNCATE)"),
    /layout 9, this program knows 1/,
  ],
};

/** Changes the database from within the box: SQLite resolves links, and would leave it otherwise. */
async function sql(box: Box, statements: string): Promise<void> {
  const program =
    "const [file, sql] = process.argv.slice(1); new (require('node:sqlite').DatabaseSync)(file).exec(sql)";
  await box.run([process.execPath, "-e", program, DATABASE, statements]);
}

/** The API as the administrator sees it. */
async function ask(box: Box, method: string, path: string, body?: object): Promise<string> {
  const { server, caPem, identity } = accessIn(box.path(`${API}/admin.kubeconfig`));
  const file = (name: string, text = "") => {
    writeFileSync(join(box.folder, name), text, { mode: 0o600 });
    return join(box.folder, name);
  };
  return await box.run([
    ...["curl", "-sf", "-X", method, "--cacert", file("ca.pem", caPem)],
    ...["--cert", file("admin.pem", identity?.certificatePem)],
    ...["--key", file("admin.key", identity?.privateKeyPem)],
    ...(body
      ? ["-H", "content-type: application/json", "-d", `@${file("body", JSON.stringify(body))}`]
      : []),
    `${server}${path}`,
  ]);
}

const PODS = "/api/v1/namespaces/default/pods";
const podOf = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: TEST_IMAGE, command: [...STAY] }],
  },
});

const whyNode = (box: Box) => box.run([process.execPath, PROGRAM, "why", "--node"]);
const tasks = async (box: Box) => (await box.ctr("tasks", "list", "-q")).split("\n").toSorted();

/** An agent with an API of its own, a static pod and two pods of the API. */
async function start(box: Box): Promise<BoxedAgent> {
  const agent = await BoxedAgent.start(box, { env: { NODELET_API_FOLDER: API } });
  agent.apply("static.yaml", manifest("static"));
  for (const name of ["one", "two"]) await ask(box, "POST", PODS, podOf(name));
  await agent.untilReady(3);
  return agent;
}

/** All files of the database, its log included, put back as they were when this was called. */
function keep(box: Box): () => void {
  const own = () => readdirSync(box.path(API)).filter((name) => name.startsWith("objects.db"));
  const kept = own();
  for (const name of kept) copyFileSync(box.path(`${API}/${name}`), join(box.folder, name));
  return () => {
    for (const name of own()) rmSync(box.path(`${API}/${name}`), { recursive: true });
    for (const name of kept) copyFileSync(join(box.folder, name), box.path(`${API}/${name}`));
  };
}

test("objects.db × each damage: the agent runs, says why, touches no pod, and serves again when it is mended", (t) =>
  withBox({}, async (box) => {
    const agent = await start(box);
    const before = await tasks(box);
    for (const [damage, [apply, why]] of Object.entries(DAMAGES)) {
      await agent.kill();
      // What is in the log of the database would mend the file by itself.
      await sql(box, "PRAGMA wal_checkpoint(TRUNCATE)");
      for (const part of ["-wal", "-shm"]) rmSync(box.path(`${DATABASE}${part}`), { force: true });
      const mend = keep(box);
      await apply(box.path(DATABASE), box);
      const began = performance.now();
      await agent.start();
      t.diagnostic(`${damage}: started in ${Math.round(performance.now() - began)} ms`);
      const reported = (await whyNode(box)).replaceAll(/\s+/g, " ");
      assert.match(reported, /not ready: LocalAPIReady:/, damage);
      assert.match(reported, why, damage);
      assert.match(agent.log(), /state file is unsafe to use and was not changed/, damage);
      const late = `late-${Object.keys(DAMAGES).indexOf(damage)}`;
      agent.apply(`${late}.yaml`, manifest(late));
      await agent.until(`${damage}: a static pod starts meanwhile`, () =>
        [...agent.statuses().values()].some(
          ({ phase, startTime = "" }) =>
            phase === "Running" && Date.parse(startTime) >= Date.now() - 600_000,
        ),
      );
      await agent.until(
        `${damage}: the new pod runs`,
        async () => (await tasks(box)).length === before.length + 2,
      );
      for (const id of before)
        assert.ok((await tasks(box)).includes(id), `${damage}: ${id} runs on`);
      agent.remove(`${late}.yaml`);
      if (damage === "input/output error") await box.run(["umount", DATABASE]);
      mend();
      await agent.until(
        `${damage}: the API is back`,
        async () => (await ask(box, "GET", PODS).catch(() => "")).includes('"two"'),
        BACK_MS,
      );
      await agent.until(
        `${damage}: only the others run`,
        async () => (await tasks(box)).length === before.length,
        BACK_MS,
      );
      assert.deepEqual(await tasks(box), before, damage);
    }
  }));

test("a pod whose object is damaged runs on, the others are served, and it is reported", () =>
  withBox({}, async (box) => {
    const agent = await start(box);
    const before = await tasks(box);
    await agent.kill();
    await sql(box, "UPDATE rows SET content = substr(content, 1, 40) WHERE key = 'default/one'");
    await agent.start();
    await agent.until("the API serves", async () =>
      (await ask(box, "GET", `${PODS}/two`).catch(() => "")).includes('"Running"'),
    );
    await assert.rejects(ask(box, "GET", `${PODS}/one`));
    await agent.until("every source was seen", async () => /^ {2}ready$/m.test(await whyNode(box)));
    assert.match(await whyNode(box), /objects\.db: pods default\/one/);
    assert.deepEqual(await tasks(box), before);
    assert.ok(!agent.decisions().some(({ kind }) => kind === "killPod"), "nothing was ended");
    // Recreated it is another pod, and the one before is ended.
    await ask(box, "POST", PODS, podOf("one"));
    await agent.until(
      "the new pod runs in place of the old one",
      async () => {
        const now = await tasks(box);
        return (
          now.length === before.length && now.filter((id) => !before.includes(id)).length === 2
        );
      },
      BACK_MS,
    );
  }));

test("keys and certificates × each damage: they are recreated, pods keep running", () =>
  withBox({}, async (box) => {
    const agent = await start(box);
    const before = await tasks(box);
    const files = [
      "ca.crt",
      "ca.key",
      "apiserver.crt",
      "admin.key",
      "node.crt",
      "service-accounts.key",
    ];
    const damages: readonly ((file: string) => void)[] = [
      (file) => writeFileSync(file, ""),
      (file) => writeFileSync(file, readFileSync(file).subarray(0, 99)),
      (file) => {
        rmSync(file);
        mkdirSync(file);
      },
      (file) => rmSync(file),
    ];
    for (const [turn] of damages.entries()) {
      await agent.kill();
      for (const [at, name] of files.entries())
        damages[(turn + at) % damages.length]?.(box.path(`${API}/pki/${name}`));
      await agent.start();
      await agent.until("the API serves", async () =>
        (await ask(box, "GET", PODS).catch(() => "")).includes('"two"'),
      );
      assert.deepEqual(await tasks(box), before);
    }
    assert.match(await whyNode(box), /pki\/ca\.\w+\.broken/);
  }));
