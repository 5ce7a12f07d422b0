/** Images that pods cannot do without, brought to the runtime without a registry. */
import { Readable } from "node:stream";
import { messageOf } from "../../../kit/errors.ts";
import { CliError } from "../../../present/cli-error.ts";
import type { ImageSpec } from "../../local-images/image-archive.ts";
import { archiveOf, PAUSE_IMAGE, pauseImage } from "../../local-images/local-images.ts";
import { importImages } from "../../local-images/transfer.ts";
import { queryRuntime, withRuntime } from "../../runtime/query-runtime.ts";
import { runtimeSettings } from "../../runtime/runtime-facts.ts";
import type { OpenLedger } from "../ledger.ts";
import { configuredSandboxImage } from "./pinned-sandbox.ts";

/** A pull that has not ended by then is given up: no registry can be reached. */
const PULL_MS = 20_000;

/** A runtime that has answered before may be busy so long. */
const ANSWER_MS = 60_000;

/** Runtime that images are loaded into. */
export interface ImageTarget {
  readonly socket: string;
  readonly own: boolean;
  readonly ledger: OpenLedger;
  readonly print: (text: string) => void;
}

/**
 * Makes sure of the image that pod sandboxes run. Our own containerd gets a built one; another's is
 * pulled, and built under its name only when no registry can be reached. Throws `CliError` when the runtime does not answer.
 */
export async function ensureSandboxImage(target: ImageTarget): Promise<void> {
  if (target.own) {
    if (!(await has(target, PAUSE_IMAGE))) await importBuilt(target, [pauseImage()]);
    return;
  }
  const answer = await queryRuntime(target.socket, ANSWER_MS);
  if (answer.kind !== "answers") {
    const why = answer.kind === "silent" ? answer.why : "its socket is gone";
    throw new CliError(`the container runtime at ${target.socket} does not answer: ${why}`, {
      fix: "see what containerd logs, and repeat the command",
    });
  }
  const image =
    runtimeSettings(answer.facts.description).sandboxImage ?? (await configuredImage(target));
  if (image === undefined || (await has(target, image)) || (await pulled(target, image))) return;
  target.print(`${image} cannot be pulled; building a substitute on this machine`);
  await importBuilt(target, [pauseImage(image)]);
}

/** Without it nothing is built: pods then wait for the image with the runtime's reason. */
async function configuredImage({ socket, print }: ImageTarget): Promise<string | undefined> {
  try {
    return await configuredSandboxImage(socket);
  } catch (error) {
    print(`failed to read which sandbox image containerd uses: ${messageOf(error)}`);
    return undefined;
  }
}

/** Imports those of the images that the runtime does not have. */
export async function ensureImages(
  target: ImageTarget,
  images: readonly { readonly name: string; readonly build: () => ImageSpec }[],
): Promise<void> {
  const specs: ImageSpec[] = [];
  for (const { name, build } of images) if (!(await has(target, name))) specs.push(build());
  if (specs.length > 0) await importBuilt(target, specs);
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
    { signal: AbortSignal.timeout(PULL_MS) },
  );
  return await pull.then(
    () => true,
    () => false,
  );
}

/** Imports images; those of a runtime that is not ours are noted before, so that `down` removes them. */
async function importBuilt(
  { socket, own, ledger }: ImageTarget,
  images: readonly ImageSpec[],
): Promise<void> {
  const names = images.flatMap((image) => image.names);
  if (!own) ledger.change(({ images: noted }) => ({ images: [...new Set([...noted, ...names])] }));
  try {
    await importImages({ names, parts: [Readable.from([archiveOf(images)])] }, socket);
  } catch (cause) {
    const message = `${names.join(", ")} could not be imported: ${messageOf(cause)}`;
    throw new CliError(message, {
      cause,
      ...(cause instanceof CliError && cause.fix !== undefined ? { fix: cause.fix } : {}),
    });
  }
}
