// pure

/** TLS versions by the names the kubelet takes. */
export const TLS_VERSIONS: readonly string[] = [
  "VersionTLS10",
  "VersionTLS11",
  "VersionTLS12",
  "VersionTLS13",
];

/** Key exchange mechanisms that Go knows, by their number in the TLS registry, as OpenSSL names them. */
export const KEY_EXCHANGES: Readonly<Record<number, string>> = {
  23: "P-256",
  24: "P-384",
  25: "P-521",
  29: "X25519",
  4587: "SecP256r1MLKEM768",
  4588: "X25519MLKEM768",
  4589: "SecP384r1MLKEM1024",
};

/** Suites in good standing. Source: https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/. */
export const PREFERRED_CIPHER_SUITES: readonly string[] = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
  "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
  "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
  "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
  "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
  "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
  "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];

/** Suites that work but should not be used. */
export const INSECURE_CIPHER_SUITES: readonly string[] = [
  "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
  "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
  "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
  "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
  "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
  "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
  "TLS_RSA_WITH_AES_128_CBC_SHA",
  "TLS_RSA_WITH_AES_128_CBC_SHA256",
  "TLS_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_RSA_WITH_AES_256_CBC_SHA",
  "TLS_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_RSA_WITH_RC4_128_SHA",
];

/** The six suites that the CIS benchmark allows (kube-bench 4.2.12), besides those of TLS 1.3. */
export const STRONG_CIPHER_SUITES: readonly string[] = PREFERRED_CIPHER_SUITES.filter((name) =>
  /^TLS_ECDHE_(ECDSA|RSA)_WITH_(AES_\d+_GCM_SHA\d+|CHACHA20_POLY1305(_SHA256)?)$/.test(name),
);

/** Kinds of suites before TLS 1.3, the best first (Go crypto/tls cipherSuitesPreferenceOrder on CPUs with AES instructions). */
const PREFERENCE: readonly RegExp[] = [
  /^TLS_ECDHE_\w+_WITH_AES_128_GCM_/,
  /^TLS_ECDHE_\w+_WITH_AES_256_GCM_/,
  /^TLS_ECDHE_\w+_WITH_CHACHA20_/,
  /^TLS_ECDHE_\w+_WITH_AES_128_CBC_SHA$/,
  /^TLS_ECDHE_\w+_WITH_AES_256_CBC_SHA$/,
  /_GCM_/,
  /_AES_\d+_CBC_SHA$/,
  /_3DES_/,
  /_CBC_SHA256$/,
];

/**
 * Suites in the order in which a server prefers them. As in Go that is not the order in which they were configured: the
 * documented list is an alphabetical one, which would prefer CBC with SHA-1.
 */
export function preferredOrder(suites: readonly string[]): readonly string[] {
  return suites.toSorted((a, b) => preferenceOf(a) - preferenceOf(b));
}

function preferenceOf(name: string): number {
  const rank = PREFERENCE.findIndex((kind) => kind.test(name));
  return rank < 0 ? PREFERENCE.length : rank;
}

/** Whether `name` is a suite that can be configured. */
export function isKnownCipherSuite(name: string): boolean {
  return PREFERRED_CIPHER_SUITES.includes(name) || INSECURE_CIPHER_SUITES.includes(name);
}
