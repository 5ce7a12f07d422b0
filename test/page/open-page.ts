// Ways to the page of a node: a browser, a port that leads into the box, and a link with a ticket.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type AddressInfo, connect, createServer } from "node:net";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { NodeBox } from "../cli/node-box.ts";

/** Port of the page inside a box. */
export const PAGE_PORT = 10270;

/** Debian's Chromium. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
}

/** Where the page of the box is reached on this machine's loopback, until it is closed. */
export async function forwardPage(node: NodeBox): Promise<{ origin: string; close: () => void }> {
  const path = await node.box.forward(PAGE_PORT, "127.0.0.1");
  const server = createServer((socket) => {
    const inside = connect(path);
    socket.pipe(inside).pipe(socket);
    for (const each of [socket, inside]) each.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { origin: `https://127.0.0.1:${port}`, close: () => server.close() };
}

/** The link of `nodelet page`, as it is reached at `origin`. */
export async function pageLink(node: NodeBox, origin: string): Promise<string> {
  const url = new URL((await node.run("page")).trim());
  assert.equal(url.origin, `https://127.0.0.1:${PAGE_PORT}`);
  return `${origin}${url.pathname}${url.search}`;
}

/** The page behind a link, live, with the problems that the browser finds in it. */
export async function openPage(
  context: BrowserContext,
  link: string,
): Promise<{ page: Page; problems: string[] }> {
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(`${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(link);
  await page.getByRole("status").filter({ hasText: "live" }).waitFor();
  return { page, problems };
}

/** What axe runs in the page, and what it gives. */
interface Axe {
  run(): Promise<{
    violations: readonly {
      id: string;
      impact: string;
      nodes: readonly { html: string }[];
    }[];
  }>;
}

/** Faults of accessibility in what the page shows now; its context has to bypass the page's content security policy. */
export async function axeFaults(page: Page): Promise<readonly string[]> {
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.addScriptTag({ content: axe });
  return await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run();
    return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
  });
}
