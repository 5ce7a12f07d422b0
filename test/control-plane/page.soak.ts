// The page of a control plane's node in a real browser: its components, their health, and what is wrong with one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { axeFaults, forwardPage, launchBrowser, openPage, pageLink } from "../page/open-page.ts";
import { clusterMachine, controlPlaneObstacle } from "./machine.ts";

const skip = controlPlaneObstacle();
const WAIT_MS = 120_000;
const MANIFEST = "/etc/kubernetes/manifests/kube-scheduler.yaml";

test("the page shows the parts of the control plane, and what a damaged manifest needs", {
  skip,
}, async () => {
  await using machine = await clusterMachine();
  const up = await machine.up();
  assert.equal(up.code, 0, up.stdout + up.stderr);
  const { origin, close } = await forwardPage(machine.node);
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ ignoreHTTPSErrors: true, bypassCSP: true });
    context.setDefaultTimeout(WAIT_MS);
    const { page, problems } = await openPage(context, await pageLink(machine.node, origin));
    await page.getByRole("navigation").getByRole("link", { name: "Node" }).click();
    const rows = page.getByRole("table", { name: "Control plane" }).getByRole("row");
    for (const name of ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"])
      await rows.filter({ hasText: new RegExp(`^${name}\\s*ok\\s*healthy`) }).waitFor();
    await rows.filter({ hasText: /etcd's data\s*ok\s*[\d.]+ [KM]iB of 2 GiB/ }).waitFor();
    await rows.filter({ hasText: /certificates\s*ok\s*the first ends on \d{4}/ }).waitFor();
    assert.deepEqual(await axeFaults(page), []);
    const pictures = process.env["NODELET_PICTURES"];
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/control-plane.png` });

    const manifest = await machine.node.box.run(["cat", MANIFEST]);
    machine.node.box.write(MANIFEST, manifest.replace("- kube-scheduler", "- no-such-program"));
    await rows.filter({ hasText: /^kube-scheduler\s*(?:warn|fail)/ }).waitFor();
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/damaged.png` });
    machine.node.box.write(MANIFEST, manifest);
    await rows.filter({ hasText: /^kube-scheduler\s*ok\s*healthy/ }).waitFor();
    assert.deepEqual(problems, []);
  } finally {
    await browser.close();
    close();
  }
});
