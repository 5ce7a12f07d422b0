/**
 * The Kubernetes API as a daemon needs it: objects by resource, lists that are followed for ever, errors of
 * the server as they are, credentials that change. What speaks to a server is an `ApiTransport`; all above it
 * is the same over the network, in the same process and in the simulation.
 */
export type { ApiActivity, ApiActivityFact } from "./activity.ts";
export { ApiError, isApiError } from "./api-error.ts";
export type {
  CallObserver,
  KubeClientDeps,
  KubeClientOptions,
  KubeObject,
  ListOptions,
  ObjectList,
  Patch,
  Selection,
} from "./client.ts";
export { KubeClient, NO_ANSWER } from "./client.ts";
export type { EndpointDeps, LoadedEndpoint } from "./endpoint.ts";
export { loadEndpoint } from "./endpoint.ts";
export type { Kubeconfig } from "./kubeconfig.ts";
export { readKubeconfig } from "./kubeconfig.ts";
export type { NamedPlace, ObjectSource, ObjectSourceDeps } from "./object-source.ts";
export { WatchedObjects } from "./object-source.ts";
export type { PollingDeps, PollingOptions } from "./polled-objects.ts";
export { PolledObjects } from "./polled-objects.ts";
export type { FollowDeps, FollowOptions, ObjectChange } from "./reflector.ts";
export { followObjects, withoutManagedFields } from "./reflector.ts";
export * from "./resources.ts";
export type { RuntimeClassAnswer, RuntimeClassList } from "./runtime-class-list.ts";
export { followRuntimeClasses } from "./runtime-class-list.ts";
export type {
  ServiceAccountToken,
  ServiceAccountTokens,
  TokenOptions,
  TokenRequestDeps,
} from "./service-account-tokens.ts";
export { RequestedTokens } from "./service-account-tokens.ts";
export type { ServiceList, ServiceListDeps } from "./service-list.ts";
export { followServices } from "./service-list.ts";
export { DeferredTransport } from "./transport/deferred-transport.ts";
export type {
  ApiEndpoint,
  ApiReply,
  ApiRequest,
  ApiTransport,
  ApiWatchReply,
  ApiWatchRequest,
  ClientIdentity,
  Credentials,
  Kube,
} from "./transport/transport.ts";
