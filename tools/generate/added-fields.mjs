// Fields of Kubernetes 1.37 that neither the OpenAPI models nor the .proto files of 1.36 have, which the generators read: by
// model, with the type as the models spell it, the number in the API's binary form, and what `kubectl explain` shows.

/** @type {Readonly<Record<string, readonly { name: string, type: string, format?: string, number: number, text: string }[]>>} */
export const ADDED_FIELDS = {
  V1EmptyDirVolumeSource: [
    {
      name: "mode",
      type: "number",
      format: "int32",
      number: 3,
      text: "Mode of the folder, 0 to 01777 in octal; 0777 unless given. Alpha.",
    },
  ],
  V1GRPCAction: [
    {
      name: "mode",
      type: "string",
      number: 3,
      text: "How to connect: Plaintext (the default) or TLS, whose certificate is not verified. Alpha.",
    },
  ],
  V1HTTPGetAction: [
    {
      name: "protocol",
      type: "string",
      number: 6,
      text: "Protocol of a probe: HTTP1 (the default) or HTTP2, which is HTTP/2 without TLS. Alpha.",
    },
  ],
  V1NodeSystemInfo: [
    {
      name: "runningInUserNamespace",
      type: "boolean",
      number: 12,
      text: "Whether the kubelet runs in a user namespace. Absent where it does not say so.",
    },
  ],
  V1VolumeMount: [
    {
      name: "bindMountOptions",
      type: "Array<string>",
      number: 8,
      text: "Further options of the mount: noexec, nodev, nosuid. Not for image volumes. Alpha.",
    },
  ],
};
