/**
 * Certificates of the node, signed by the cluster. Owns: their files below `--cert-dir`. In: a client
 * of the API that may ask for them. Out: pairs of certificate and key, renewed in time. Invariants: a key
 * never leaves the node, and only root reads it; what is kept always fits together.
 *
 * Example:
 *     const store = new CertificateStore(folder, CLIENT_STORE, { files, log });
 *     await keepCertificate(clientRotation(nodeName), { ...deps, store }, { first: await store.current(), signal });
 */
export type { BootstrapDeps, BootstrapOptions } from "./bootstrap.ts";
export { bootstrapCertificate, nodeKubeconfig } from "./bootstrap.ts";
export type { CertificateRotationDeps, RotationOptions } from "./rotate.ts";
export { keepCertificate, renewalAt } from "./rotate.ts";
export type { SignDeps } from "./sign.ts";
export { CLIENT_STORE, clientRotation, SERVING_STORE, servingRotation } from "./signers.ts";
export type { CertificatePair, CertificateStoreDeps } from "./store.ts";
export { CertificateStore, isCurrent, splitPair } from "./store.ts";
