/**
 * What the page costs and how fast it is, in Debian's Chromium: 50 pods in crash loops on a real node, and 500 pods of a
 * simulated one. Pictures of every view are written where NODELET_PICTURES names a folder.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import type { Overview } from "../../src/present/shapes.ts";
import { median, spread } from "../../tools/bench/statistics.ts";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { answerOf } from "../server/http.ts";
import { ServedWorld } from "../server/world.ts";
import { forwardPage, launchBrowser, openPage, pageLink } from "./open-page.ts";

const LOOPS = 50;
const MANY = 500;
const FIRST_PAINT_MS = 1_000;
const ON_SCREEN_MS = 500;
const MAX_BYTES = 150_000;
/** Of one CPU. */
const MAX_MILLICORES = 5;
/** Visits with a new browser profile: connection, certificate, login and page. */
const VISITS = 5;
/**
 * The longest pause before a restart, so that each pod restarts at one rate for ever: some fifty restarts in every window.
 * With the default they become rarer all the time.
 */
const RESTART_PERIOD_S = 20;
/** One round of restarts: the pause, and the second for which a container runs. */
const WINDOW_MS = (RESTART_PERIOD_S + 1) * 1_000;
/** Neighbours are compared; in half of the pairs the page is open first. NODELET_PAIRS has another number of them. */
const PAIRS = Number(process.env["NODELET_PAIRS"] ?? 8);
const CHANGES = 5;
const PICTURES = process.env["NODELET_PICTURES"];
const DIST = join(import.meta.dirname, "../../dist/page");
const VIEWS = ["pods", "events", "probes", "images", "devices", "cgroups", "node"] as const;

/** Milliseconds until something was painted, and until all rows were there. */
async function paints(page: Page, rows: number): Promise<{ firstMs: number; rowsMs: number }> {
  await page.waitForFunction(`document.querySelectorAll("tbody tr").length >= ${rows}`);
  return page.evaluate(() => ({
    firstMs: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
    rowsMs: performance.now(),
  }));
}

/** When the page and each of its files began to arrive and were there, in ms since it was opened. */
const loaded = (page: Page): Promise<string> =>
  page.evaluate(() =>
    (performance.getEntries() as PerformanceResourceTiming[])
      .filter(({ responseEnd }) => responseEnd > 0)
      .map(({ name, responseStart, responseEnd }) =>
        [name.split("/").at(-1), responseStart.toFixed(), responseEnd.toFixed()].join(" "),
      )
      .join(", "),
  );

const bytesOf = (page: Page): Promise<number> =>
  page.evaluate(() =>
    performance
      .getEntries()
      .reduce((sum, entry) => sum + ((entry as PerformanceResourceTiming).encodedBodySize ?? 0), 0),
  );

async function pictures(page: Page, name: string, hash: string): Promise<void> {
  if (PICTURES === undefined) return;
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(`${page.url().split("#")[0]}#/${hash}`);
      await page.getByRole("main").locator("table, .empty, .axis").first().waitFor();
      await page.screenshot({ path: `${PICTURES}/${name}-${colorScheme}-${width}.png` });
    }
  }
}

/** A manifest of a pod that ends after a while again and again, or stays. */
function manifest(name: string, script: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "main",
          image: "localhost/nodelet/hello:1",
          imagePullPolicy: "Never",
          command: ["/bin/sh", "-c", script],
          resources: { requests: { cpu: "5m", memory: "8Mi" }, limits: { memory: "32Mi" } },
        },
      ],
    },
  });
}

/** CPU time that the agent has used, in ms. */
async function cpuMs({ box }: NodeBox): Promise<number> {
  const socketPath = box.path("/run/nodelet/agent.sock");
  const path = "/nodelet/v1/overview";
  const { body } = await answerOf(request({ socketPath, path, agent: false }));
  return (JSON.parse(body) as Overview).agent.cpuSeconds * 1_000;
}

/** Runs in the page: the time at which status, readiness or restarts of a pod are shown otherwise than now. */
const CHANGED = `(name) => {
  const row = () => [...document.querySelectorAll("tbody tr")].find((each) => each.textContent.includes(name));
  const state = () =>
    [...(row()?.querySelectorAll("td") ?? [])].slice(1, 4).map((cell) => cell.textContent.replace(/\\(.*/, "")).join();
  const before = state();
  return new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (state() === before) return;
      observer.disconnect();
      requestAnimationFrame(() => resolve(Date.now()));
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  });
}`;

/** Kills the process of a container, and measures until its row says so, on one clock. */
async function changeMs(
  { box }: NodeBox,
  page: Page,
  pod: string,
  marker: string,
): Promise<number> {
  const shown = page.evaluate<number>(`(${CHANGED})(${JSON.stringify(pod)})`);
  const kill = `pid=$(pgrep -f '^sleep ${marker}') && date +%s%3N && kill -KILL $pid`;
  const killed = await box.run(["sh", "-c", kill]);
  return (await shown) - Number(killed.trim());
}

/** A new visitor's page, with what the browser complains of. */
async function visit(
  browser: Browser,
  node: NodeBox,
  origin: string,
): Promise<Awaited<ReturnType<typeof openPage>>> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(120_000);
  return openPage(context, await pageLink(node, origin));
}

/** Millicores of the agent in one window. */
async function windowMillicores(node: NodeBox): Promise<number> {
  const [before, began] = [await cpuMs(node), performance.now()];
  await sleep(WINDOW_MS);
  return (((await cpuMs(node)) - before) / (performance.now() - began)) * 1_000;
}

/** How much more the agent uses while the page is open, from each pair of windows. */
async function pageMillicores(t: TestContext, node: NodeBox, page: Page): Promise<number[]> {
  const url = page.url();
  const used = async (kind: "open" | "closed") => {
    await page.goto(kind === "open" ? url : "about:blank");
    await sleep(2_000);
    return windowMillicores(node);
  };
  const more: number[] = [];
  for (let i = 0; i < PAIRS; i += 1) {
    const first = i % 2 === 0 ? "closed" : "open";
    const [a, b] = [await used(first), await used(first === "open" ? "closed" : "open")];
    const [open, closed] = first === "open" ? [a, b] : [b, a];
    t.diagnostic(`CPU: ${open.toFixed(1)}m with the page, ${closed.toFixed(1)}m without`);
    more.push(open - closed);
  }
  return more;
}

const shortly = (values: readonly number[]) => {
  const { median: middle, min, max } = spread(values) ?? { median: 0, min: 0, max: 0 };
  return `${middle.toFixed(1)} (${min.toFixed(1)} to ${max.toFixed(1)})`;
};

test(`${LOOPS} pods in crash loops on a real node`, async (t) => {
  const node = await bareMachine({ storeMib: 1024 });
  let browser: Browser | undefined;
  let close: (() => void) | undefined;
  try {
    await node.box.exec(
      ["sh", "-c", "mkdir -p /etc/nodelet/loops && cat >/etc/nodelet/loops/a.conf"],
      {
        stdin: `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
crashLoopBackOff: {maxContainerRestartPeriod: ${RESTART_PERIOD_S}s}
`,
      },
    );
    const flags = ["--", "--config-dir=/etc/nodelet/loops"];
    const up = await node.nodelet(["up", "--demo", "--detach", "--until-ready", ...flags]);
    assert.equal(up.code, 0, up.stdout + up.stderr);
    const pods = [
      ...Array.from({ length: LOOPS }, (_, i) => [`loop-${i}`, "sleep 1; exit 1"] as const),
      ...Array.from({ length: CHANGES }, (_, i) => [`steady-${i}`, `exec sleep 9000${i}`] as const),
    ];
    for (const [name, script] of pods)
      await node.box.exec(["sh", "-c", `cat >/etc/nodelet/manifests/${name}.yaml`], {
        stdin: manifest(name, script),
      });
    const forwarded = await forwardPage(node);
    close = forwarded.close;
    browser = await launchBrowser();
    const warm = await visit(browser, node, forwarded.origin);
    for (const [name] of pods.slice(LOOPS))
      await warm.page.getByRole("row").filter({ hasText: name }).getByText("Running").waitFor();
    await warm.page.context().close();

    const painted: { firstMs: number; rowsMs: number }[] = [];
    let { page, problems } = await visit(browser, node, forwarded.origin);
    for (let i = 0; i < VISITS; i += 1) {
      if (i > 0) {
        await page.context().close();
        ({ page, problems } = await visit(browser, node, forwarded.origin));
      }
      painted.push(await paints(page, pods.length));
      t.diagnostic(`arrived: ${await loaded(page)}`);
      assert.deepEqual(problems, []);
    }
    const firsts = painted.map(({ firstMs }) => firstMs);
    const bytes = await bytesOf(page);
    t.diagnostic(
      `first paint after ms: ${shortly(firsts)}, rows: ${shortly(painted.map(({ rowsMs }) => rowsMs))}`,
    );
    const changes: number[] = [];
    for (let i = 0; i < CHANGES; i += 1)
      changes.push(await changeMs(node, page, `steady-${i}-`, `9000${i}`));
    t.diagnostic(`${bytes} bytes; changes on screen after ms: ${shortly(changes)}`);
    await pictures(page, "loops", "pods");
    await pictures(page, "loops-cgroups", "cgroups");
    await page.goto(`${forwarded.origin}/page/#/pods`);
    const more = await pageMillicores(t, node, page);
    t.diagnostic(`CPU with the page more than without, in millicores: ${shortly(more)}`);
    assert.deepEqual(problems, []);
    assert.ok(median(firsts) < FIRST_PAINT_MS, `first paint ${firsts.join(", ")} ms`);
    assert.ok(bytes <= MAX_BYTES, `${bytes} bytes`);
    assert.ok(median(changes) < ON_SCREEN_MS, `on screen after ${changes.join(", ")} ms`);
    assert.ok(median(more) <= MAX_MILLICORES, `millicores more: ${shortly(more)}`);
  } finally {
    await browser?.close();
    close?.();
    await node[Symbol.asyncDispose]();
  }
});

test(`${MANY} pods of a simulated node`, async (t) => {
  const address = { host: "127.0.0.1", port: 10_271 };
  const readAsset = async (name: string) => readFileSync(join(DIST, name));
  await using world = await new ServedWorld({
    config: { maxPods: MANY + 10 },
    server: { page: { address, readAsset } },
  }).start();
  for (let i = 0; i < MANY; i += 1)
    await world.run(
      `web-${i}`,
      i % 10 === 0 ? { kind: "exit", code: 1, afterMs: 2_000 } : { kind: "sleep" },
      { restartPolicy: "Always" },
    );
  const ticket = await world.local("/nodelet/v1/page/tickets", "POST");
  const { url } = JSON.parse(ticket.body) as { readonly url: string };
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    context.setDefaultTimeout(60_000);
    const { page, problems } = await openPage(context, url);
    const painted = await paints(page, MANY);
    t.diagnostic(
      `first paint ${painted.firstMs.toFixed(0)} ms, rows ${painted.rowsMs.toFixed(0)} ms`,
    );
    t.diagnostic(`${await bytesOf(page)} bytes`);
    await page.getByRole("searchbox").fill("web-42");
    await page.getByRole("row").filter({ hasText: "web-499" }).waitFor({ state: "detached" });
    await page.getByRole("searchbox").fill("");
    for (const view of VIEWS) await pictures(page, `many-${view}`, view);
    await pictures(page, "many-pod", "pod/default%2Fweb-10");
    assert.deepEqual(problems, []);
    assert.ok(painted.firstMs < FIRST_PAINT_MS, `first paint ${painted.firstMs} ms`);
  } finally {
    await browser.close();
  }
});
