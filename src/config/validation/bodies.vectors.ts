// pure

/** Bodies with these endpoints of tracing. */
export function traceEndpoints(endpoints: readonly string[]): string[] {
  return endpoints.map((endpoint) => `tracing: {endpoint: ${JSON.stringify(endpoint)}}`);
}

/** Bodies that allow one of these sysctls each. */
export function sysctls(names: readonly string[]): string[] {
  return names.map((name) => `allowedUnsafeSysctls: [${JSON.stringify(name)}]`);
}

/** Bodies with one of these patterns of images each. */
export function allowlists(images: readonly string[]): string[] {
  const policy = "imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages";
  return images.map(
    (image) => `${policy}\npreloadedImagesVerificationAllowlist: [${JSON.stringify(image)}]`,
  );
}

/** The gate of alpha options of the CPU manager. */
export function alphaCpus(): string {
  return "\nfeatureGates: {CPUManagerPolicyAlphaOptions: true}";
}

/** Bodies with the static CPU policy and these options. */
export function cpuOptions(options: readonly string[], more: string = ""): string[] {
  const policy = "cpuManagerPolicy: static\nkubeReserved: {cpu: 500m}";
  return options.map((option) => `${policy}\ncpuManagerPolicyOptions: {${option}}${more}`);
}
