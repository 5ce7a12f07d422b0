/** Images that pods cannot do without, brought to the runtime without a registry. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { CliError } from "../../cli-error.ts";
import type { ImageSpec } from "../../local-images/image-archive.ts";
import { archiveOf, PAUSE_IMAGE, pauseImage } from "../../local-images/local-images.ts";
import { lastLine } from "../../render/text.ts";
import type { OpenLedger } from "../ledger.ts";
import { findProgram } from "../programs.ts";
import { askRuntime, withRuntime } from "./ask-runtime.ts";
import { runtimeSettings } from "./runtime-facts.ts";

const run = promisify(execFile);

/** A pull that has not ended by then is given up: no registry can be reached. */
const PULL_MS = 20_000;
const NOTICE_MS = 10_000;
const POLL_MS = 50;

/** What images are brought to. */
export interface ImageTarget {
  readonly socket: string;
  readonly own: boolean;
  readonly ledger: OpenLedger;
  readonly print: (text: string) => void;
}

/**
 * Makes sure of the image that pod sandboxes run. Our own containerd gets a built one; another's is
 * pulled, and built under its name only when no registry can be reached.
 */
export async function ensureSandboxImage(target: ImageTarget): Promise<void> {
  if (target.own) {
    if (!(await has(target, PAUSE_IMAGE))) await importImages(target, [pauseImage()]);
    return;
  }
  const answer = await askRuntime(target.socket);
  const image =
    answer.kind === "answers" ? runtimeSettings(answer.facts.description).sandboxImage : undefined;
  if (image === undefined || (await has(target, image)) || (await pulled(target, image))) return;
  target.print(`${image} cannot be pulled; building a substitute on this machine`);
  await importImages(target, [pauseImage(image)]);
}

/** Imports those of the images that the runtime does not have. */
export async function ensureImages(
  target: ImageTarget,
  images: readonly { readonly name: string; readonly build: () => ImageSpec }[],
): Promise<void> {
  const specs: ImageSpec[] = [];
  for (const { name, build } of images) if (!(await has(target, name))) specs.push(build());
  if (specs.length > 0) await importImages(target, specs);
}

async function has(target: ImageTarget, image: string): Promise<boolean> {
  return await withRuntime(
    target.socket,
    async (cri, signal) => (await cri.images.imageStatus(image, signal)) !== undefined,
  );
}

async function pulled(target: ImageTarget, image: string): Promise<boolean> {
  target.print(`pulling ${image}`);
  const pull = withRuntime(
    target.socket,
    (cri, signal) => cri.images.pullImage({ image, annotations: {} }, signal),
    AbortSignal.timeout(PULL_MS),
  );
  return await pull.then(
    () => true,
    () => false,
  );
}

/** Imports images and waits until CRI shows them. */
async function importImages(target: ImageTarget, images: readonly ImageSpec[]): Promise<void> {
  const names = images.flatMap((image) => image.names);
  const ctr = findProgram("ctr");
  if (ctr === undefined) {
    throw new CliError("ctr not found; it is part of containerd", {
      fix: `import ${names.join(", ")} into the runtime yourself`,
    });
  }
  const { ledger } = target;
  if (!target.own) ledger.change({ images: [...new Set([...ledger.now.images, ...names])] });
  const folder = mkdtempSync(join(tmpdir(), "nodelet-images-"));
  try {
    const file = join(folder, "images.tar");
    writeFileSync(file, archiveOf(images));
    const common = ["--address", target.socket, "--namespace", "k8s.io"];
    await run(ctr, [...common, "images", "import", file]);
  } catch (cause) {
    const { stderr = "" } = cause as { readonly stderr?: string };
    const why = lastLine(stderr);
    throw new CliError(`${names.join(", ")} could not be imported: ${why}`, { cause });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const deadline = performance.now() + NOTICE_MS;
  for (const name of names) {
    while (!(await has(target, name))) {
      if (performance.now() > deadline)
        throw new CliError(`the runtime does not list the imported image ${name}`);
      await sleep(POLL_MS);
    }
  }
}
