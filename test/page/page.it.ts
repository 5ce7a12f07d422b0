// The page of the node in a real browser: what it shows, how fast, who may see it, and that everybody can use it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { axeFaults, forwardPage, launchBrowser, openPage, pageLink } from "./open-page.ts";

const WAIT_MS = 60_000;

let node: NodeBox;
let browser: Browser;
let origin = "";
const stops: (() => unknown)[] = [];

before(async () => {
  node = await bareMachine();
  const up = await node.nodelet(["up", "--demo", "--detach", "--until-ready"]);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  const forwarded = await forwardPage(node);
  stops.push(forwarded.close);
  origin = forwarded.origin;
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  for (const stop of stops) stop();
  await node?.[Symbol.asyncDispose]();
});

/** A browser without anything of earlier ones; the certificate is the agent's own. */
async function freshContext(): Promise<BrowserContext> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(WAIT_MS);
  return context;
}

const link = () => pageLink(node, origin);
const openFresh = async (context: BrowserContext) => openPage(context, await link());

test("without a session everything is refused, and a link opens one session", async () => {
  const context = await freshContext();
  for (const path of ["/page/", "/page/icon.svg", "/page/data/overview", "/page/data/changes"]) {
    const { status } = await outcomeOf(context, path);
    assert.equal(status, 401, path);
  }
  const url = await link();
  const page = await context.newPage();
  await page.goto(url);
  assert.equal(page.url(), `${origin}/page/`, "the ticket does not stay in the address");
  const [cookie] = await context.cookies();
  assert.deepEqual(
    [cookie?.httpOnly, cookie?.secure, cookie?.sameSite, cookie?.path],
    [true, true, "Strict", "/page"],
  );
  const other = await freshContext();
  const again = await (await other.newPage()).goto(url);
  assert.equal(again?.status(), 401, "a used link opens nothing");
  await context.close();
  await other.close();
});

async function outcomeOf(
  context: BrowserContext,
  path: string,
  method = "GET",
): Promise<{ status: number; headers: Record<string, string> }> {
  const answer = await context.request.fetch(`${origin}${path}`, { method });
  return { status: answer.status(), headers: answer.headers() };
}

test("a session reads and changes nothing, and only the page's own script runs", async () => {
  const context = await freshContext();
  const { page } = await openFresh(context);
  assert.equal((await outcomeOf(context, "/page/data/overview")).status, 200);
  for (const path of [
    "/page/data/images/gc",
    "/page/data/cgroups/repair",
    "/page/data/page/tickets",
  ])
    assert.equal((await outcomeOf(context, path, "POST")).status, 404, path);
  for (const path of ["/pods", "/exec/default/a/b", "/nodelet/v1/pods", "/metrics"])
    assert.equal((await outcomeOf(context, path)).status, 401, `${path}: no cookie goes there`);
  const { headers } = await outcomeOf(context, "/page/");
  const policy = headers["content-security-policy"] ?? "";
  assert.match(policy, /^default-src 'none';/);
  assert.match(policy, /; script-src 'sha256-[\w+/]{43}='; style-src 'sha256-[\w+/]{43}='$/);
  assert.doesNotMatch(policy, /unsafe/);
  const ran = await page.evaluate<string>(`(() => {
    const script = document.createElement("script");
    script.textContent = "document.title = 'another script'";
    document.body.append(script);
    return document.title;
  })()`);
  assert.equal(ran, "nodelet");
  await context.close();
});

test("every view shows the node, without a problem, within 150 KB", async () => {
  const context = await freshContext();
  const { page, problems } = await openFresh(context);
  await page.getByRole("link", { name: /^hello-/ }).click();
  await page.getByRole("img", { name: /entries from/ }).waitFor();
  await page.getByText("Started web.", { exact: true }).waitFor();
  await page
    .getByRole("img", { name: /success: .* attempts/ })
    .first()
    .waitFor();
  await picture(page);
  const views: readonly (readonly [view: string, shown: RegExp])[] = [
    ["Events", /Started/],
    ["Probes", /readiness httpGet/],
    ["Images", /localhost\/nodelet\/hello:1/],
    ["Devices", /No device plugin and no DRA driver has registered/],
    ["Cgroups", /No drift|Drift/],
    ["Node", /memory\.available/],
    ["Pods", /Running/],
  ];
  for (const [view, shown] of views) {
    await page.getByRole("navigation").getByRole("link", { name: view }).click();
    await page.getByRole("main").getByText(shown).first().waitFor();
  }
  const sizes = await page.evaluate(() =>
    (performance.getEntries() as PerformanceResourceTiming[])
      .filter(({ decodedBodySize, name }) => decodedBodySize > 0 && !name.includes("/data/"))
      .map(({ decodedBodySize, encodedBodySize }) => [decodedBodySize, encodedBodySize] as const),
  );
  const [first] = sizes;
  assert.ok(first && first[1] < first[0] / 2, "the page comes compressed");
  const total = sizes.reduce((sum, [bytes]) => sum + bytes, 0);
  assert.ok(total < 150_000, `${total} bytes`);
  assert.deepEqual(problems, []);
  await context.close();
});

/** The picture in the documentation, made again on request: NODELET_PICTURES=docs. */
async function picture(page: Page): Promise<void> {
  const folder = process.env["NODELET_PICTURES"];
  if (folder === undefined) return;
  await page.setViewportSize({ width: 1100, height: 760 });
  await page.screenshot({ path: `${folder}/page.png` });
}

test("what happens to a pod is on the page without a reload", async () => {
  const context = await freshContext();
  const { page } = await openFresh(context);
  const manifest = "/etc/nodelet/manifests/late.yaml";
  const pod = `apiVersion: v1
kind: Pod
metadata: {name: late}
spec:
  containers: [{name: main, image: "localhost/nodelet/missing:1", imagePullPolicy: Never}]
`;
  await node.box.exec(["sh", "-c", `cat >${manifest}`], { stdin: pod });
  const row = page.getByRole("row").filter({ hasText: /late-/ });
  await row.getByText("ErrImageNeverPull").first().waitFor();
  await node.box.run(["rm", manifest]);
  await row.waitFor({ state: "detached" });
  await context.close();
});

test("axe finds no fault in any view, light and dark, and the keyboard reaches all of them", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({
      ignoreHTTPSErrors: true,
      bypassCSP: true,
      colorScheme,
    });
    const { page } = await openFresh(context);
    for (const view of ["pods", "events", "probes", "images", "devices", "cgroups", "node"]) {
      await page.goto(`${origin}/page/#/${view}`);
      await page.getByRole("main").locator("table, .tree, .empty").first().waitFor();
      const found = await axeFaults(page);
      assert.deepEqual(found, [], `${colorScheme} ${view}`);
    }
    await context.close();
  }
  const context = await freshContext();
  const { page } = await openFresh(context);
  const reached = new Set<string>();
  for (let presses = 0; presses < 12; presses += 1) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate<string>('document.activeElement?.textContent ?? ""'));
  }
  for (const name of ["Skip to content", "Pods", "Events", "Probes", "Images", "Node"])
    assert.ok(reached.has(name), `${name} of ${[...reached].join(", ")}`);
  await context.close();
});
