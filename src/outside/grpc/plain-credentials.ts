import { type ChannelCredentials, credentials } from "@grpc/grpc-js";

/** Credentials of a connection without TLS, for libraries that bring a client of their own. */
export function plainCredentials(): ChannelCredentials {
  return credentials.createInsecure();
}
