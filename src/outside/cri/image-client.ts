import type { GrpcChannel } from "../grpc/channel.ts";
import { criCaller } from "./call.ts";
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
export function createImageClient(channel: GrpcChannel, timeoutMs: number): ImageService {
  const cri = criCaller(channel, ImageServiceDefinition.fullName, timeoutMs);
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
      return (await cri.call(METHODS.pullImage, request, signal, "none")).imageRef;
    },
    removeImage: async (image, signal) => {
      await cri.call(
        METHODS.removeImage,
        RemoveImageRequest.fromPartial({ image: { image } }),
        signal,
      );
    },
    filesystems: async (signal) =>
      (await cri.call(METHODS.imageFsInfo, {}, signal)).imageFilesystems,
  };
}
