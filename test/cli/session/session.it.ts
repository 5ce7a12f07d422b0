// The session that README shows, played for real: what docs/session.txt holds is what the program prints today.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { bareMachine, type NodeBox } from "../node-box.ts";
import { fillBlocks, fromText, type Step, toSvg, toText, withoutVariables } from "./recording.ts";

const ROOT = join(import.meta.dirname, "../../..");
const FILES = {
  text: join(ROOT, "docs/session.txt"),
  picture: join(ROOT, "docs/session.svg"),
  readme: join(ROOT, "README.md"),
};
const COMMAND_MS = 120_000;

/** A pod whose image is nowhere, for the folder of manifests. */
const BROKEN = `apiVersion: v1
kind: Pod
metadata: { name: shop }
spec:
  dnsPolicy: Default
  containers:
    - { name: cart, image: "localhost/shop/cart:7", imagePullPolicy: Never }
`;

/** Plays the session and returns what it printed. */
async function play(node: NodeBox): Promise<readonly Step[]> {
  const steps: Step[] = [];
  writeFileSync(join(node.box.folder, "shop.yaml"), BROKEN);
  const run = async (command: string, program = command) => {
    const line = `cd ${node.box.folder}; { ${program.replace(/^sudo /, "")}; } 2>&1`;
    const output = await node.box.run(["sh", "-c", line], { timeoutMs: COMMAND_MS });
    steps.push({ command, output });
  };
  const start = "up --demo --detach --until-ready";
  await run(`sudo nodelet ${start}`, `${join(ROOT, "bin/nodelet")} ${start}`);
  await run("sudo nodelet get pods");
  await run("sudo nodelet exec hello -- rm /www/alive");
  await node.printed(["get", "pods"], /hello-\S+ +1\/1 +Running +1 /);
  await run("sudo nodelet why hello");
  await run("cat shop.yaml");
  await run("sudo cp shop.yaml /etc/nodelet/manifests/");
  await node.printed(["get", "problems"], /shop-edge-1 .*; fix: /);
  await run("sudo nodelet get problems");
  await run("sudo nodelet stop");
  return steps;
}

test("README's session prints what the program prints", async () => {
  await using node = await bareMachine({ hostname: "edge-1" });
  const text = toText(await play(node)).replaceAll(`${ROOT}/`, "");
  if (process.env["UPDATE_GOLDEN"] === "1") {
    writeFileSync(FILES.text, text);
    writeFileSync(FILES.picture, toSvg(text));
    const readme = readFileSync(FILES.readme, "utf8");
    writeFileSync(FILES.readme, fillBlocks(readme, fromText(text)));
    return;
  }
  assert.equal(
    withoutVariables(text),
    withoutVariables(readFileSync(FILES.text, "utf8")),
    "UPDATE_GOLDEN=1 records the session again",
  );
});
