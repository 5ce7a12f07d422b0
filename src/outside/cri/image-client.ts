import { noTracer } from "../../kit/tracing/tracing.ts";
import type { GrpcChannel } from "../grpc/channel.ts";
import { type CallTerms, criCaller } from "./call.ts";
import type { ImageService } from "./cri.ts";
import {
  ImageServiceDefinition,
  ImageStatusRequest,
  ListImagesRequest,
  PullImageRequest,
  RemoveImageRequest,
} from "./generated/api.ts";

const METHODS = ImageServiceDefinition.methods;

/** The image service on a channel. Pulls have no deadline: they take as long as they take. */
export function createImageClient(channel: GrpcChannel, terms: CallTerms): ImageService {
  const cri = criCaller(channel, ImageServiceDefinition.fullName, terms);
  const { tracer = noTracer } = terms;
  return {
    listImages: async (signal) =>
      (await cri.call(METHODS.listImages, ListImagesRequest.fromPartial({}), signal)).images,
    imageStatus: async (image, signal) => {
      const request = ImageStatusRequest.fromPartial({ image: { image } });
      return (await cri.call(METHODS.imageStatus, request, signal)).image;
    },
    pullImage: async ({ image, annotations, auth, sandbox }, signal) => {
      const request = PullImageRequest.fromPartial({
        image: { image, annotations: { ...annotations } },
        ...(auth ? { auth } : {}),
        ...(sandbox ? { sandboxConfig: sandbox } : {}),
      });
      const attributes = { "container.image.name": image };
      return await tracer.run("pullImage", { attributes }, async () => {
        return (await cri.call(METHODS.pullImage, request, signal, "none")).imageRef;
      });
    },
    removeImage: async (image, signal) => {
      await cri.call(
        METHODS.removeImage,
        RemoveImageRequest.fromPartial({ image: { image } }),
        signal,
      );
    },
    imageLabels: async (image, signal) => {
      const request = ImageStatusRequest.fromPartial({ image: { image }, verbose: true });
      return labelsIn((await cri.call(METHODS.imageStatus, request, signal)).info["info"]);
    },
    filesystems: async (signal) => {
      const found = await cri.call(METHODS.imageFsInfo, {}, signal);
      return { images: found.imageFilesystems, containers: found.containerFilesystems };
    },
  };
}

interface VerboseInfo {
  readonly imageSpec?: { readonly config?: { readonly Labels?: unknown } };
}

/** The labels in the verbose information of containerd and CRI-O; whatever else that is has none. */
function labelsIn(info: string | undefined): Readonly<Record<string, string>> {
  let labels: unknown;
  try {
    labels = (JSON.parse(info ?? "") as VerboseInfo | null)?.imageSpec?.config?.Labels;
  } catch {
    return {};
  }
  if (typeof labels !== "object" || labels === null) return {};
  return Object.fromEntries(
    Object.entries(labels).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    ),
  );
}
