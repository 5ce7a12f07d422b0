// pure
import {
  active,
  boolean,
  duration,
  durationOrNanoseconds,
  INT32,
  inert,
  integer,
  integerNotZero,
  list,
  optional,
  planned,
  quantity,
  requiredMember,
  STRING,
  text,
} from "./field-types.ts";

const PORT = "1 to 65535";
const PORT_OR_OFF = "0 to 65535, 0 switches it off";
const NOT_NEGATIVE = "0 or more";

/** The agent's ports, who may use them, and what it logs. */
export const SERVING_FIELDS = [
  active("enableServer", boolean(true), "Serve the HTTPS port at all."),
  active("address", text("0.0.0.0"), "Address the HTTPS port listens on.", "an IP address"),
  active("port", integerNotZero(10250), "The HTTPS port.", PORT),
  active(
    "readOnlyPort",
    integer(0),
    "A port for status and metrics without authentication; leave it off.",
    PORT_OR_OFF,
  ),
  active("tlsCertFile", text(""), "Certificate of the HTTPS port, PEM, with its intermediates."),
  active("tlsPrivateKeyFile", text(""), "Private key that belongs to tlsCertFile, PEM."),
  active(
    "tlsCipherSuites",
    list(STRING),
    "Cipher suites offered up to TLS 1.2, by their IANA names; empty takes the default.",
    "names of known cipher suites",
  ),
  active(
    "tlsCurvePreferences",
    list(INT32),
    "Key exchange mechanisms allowed, as numbers of the TLS registry; empty takes the default.",
  ),
  active(
    "tlsMinVersion",
    text(""),
    "Lowest TLS version accepted.",
    "VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13",
  ),
  active(
    "rotateCertificates",
    boolean(false),
    "Renew the client certificate through the API server before it ends.",
  ),
  active(
    "serverTLSBootstrap",
    boolean(false),
    "Ask the API server for the serving certificate instead of signing one.",
    "needs the gate RotateKubeletServerCertificate",
  ),
  active(
    "authentication.x509.clientCAFile",
    text(""),
    "Authorities whose client certificates are believed, PEM.",
  ),
  active(
    "authentication.webhook.enabled",
    boolean(true),
    "Have bearer tokens checked by the API server (TokenReview).",
  ),
  active(
    "authentication.webhook.cacheTTL",
    duration("2m0s"),
    "How long the answer to a token is remembered.",
  ),
  active(
    "authentication.anonymous.enabled",
    boolean(false),
    "Let requests without credentials through as system:anonymous.",
  ),
  active(
    "authorization.mode",
    text("Webhook"),
    "Who decides what a caller may do: nobody (AlwaysAllow) or the API server (Webhook).",
    "AlwaysAllow or Webhook",
  ),
  active(
    "authorization.webhook.cacheAuthorizedTTL",
    duration("5m0s"),
    "How long a yes is remembered.",
  ),
  active(
    "authorization.webhook.cacheUnauthorizedTTL",
    duration("30s"),
    "How long a no is remembered.",
  ),
  active(
    "enableDebuggingHandlers",
    boolean(true),
    "Serve logs, exec, attach and port-forward, and run commands in containers.",
  ),
  planned(
    "enableContentionProfiling",
    boolean(false),
    "Profile lock contention; without meaning for a single-threaded agent.",
  ),
  planned("enableProfilingHandler", boolean(true), "Serve /debug/pprof/."),
  planned("enableDebugFlagsHandler", boolean(true), "Serve /debug/flags/v."),
  planned("enableSystemLogHandler", boolean(true), "Serve the node's log folder under /logs/."),
  planned(
    "enableSystemLogQuery",
    boolean(false),
    "Answer log queries for node services under /logs/.",
    "needs enableSystemLogHandler",
  ),
  active("healthzPort", integer(10248), "Port of /healthz, without authentication.", PORT_OR_OFF),
  active(
    "healthzBindAddress",
    text("127.0.0.1"),
    "Address the health port listens on.",
    "an IP address",
  ),
  active(
    "streamingConnectionIdleTimeout",
    duration("4h0m0s"),
    "How long a streaming connection may be idle before it is closed.",
  ),
  active("logging.format", text("text"), "Form of the log lines.", "text or json"),
  planned(
    "logging.flushFrequency",
    durationOrNanoseconds("5s"),
    "How often buffered log lines are written; text, or a number of nanoseconds.",
  ),
  active("logging.verbosity", integer(0), "Amount of detail; 0 is the least.", "0 to 2147483647"),
  planned(
    "logging.vmodule",
    list({
      kind: "object",
      members: { filePattern: requiredMember(STRING), verbosity: requiredMember(INT32) },
    }),
    "Another verbosity for some source files; text format only.",
  ),
  planned(
    "logging.options.text.splitStream",
    boolean(false),
    "Errors to stderr and the rest to stdout, text format.",
    "needs the gate LoggingAlphaOptions",
  ),
  planned(
    "logging.options.text.infoBufferSize",
    quantity("0"),
    "Bytes buffered of the information stream, text format.",
    "needs the gate LoggingAlphaOptions",
  ),
  planned(
    "logging.options.json.splitStream",
    boolean(false),
    "Errors to stderr and the rest to stdout, JSON format.",
    "needs the gate LoggingAlphaOptions",
  ),
  planned(
    "logging.options.json.infoBufferSize",
    quantity("0"),
    "Bytes buffered of the information stream, JSON format.",
    "needs the gate LoggingAlphaOptions",
  ),
  planned(
    "showHiddenMetricsForVersion",
    text(""),
    "Show the metrics hidden since this version.",
    "the previous minor version, e.g. 1.35",
  ),
  planned(
    "tracing.endpoint",
    optional(text("")),
    "OTLP collector that spans are sent to; 4317 on the local host when absent.",
  ),
  planned(
    "tracing.samplingRatePerMillion",
    optional(integer(0)),
    "Spans sampled of a million.",
    "0 to 1000000",
  ),
  active("eventRecordQPS", integer(50), "Events created per second; 0 is no limit.", NOT_NEGATIVE),
  active(
    "eventBurst",
    integerNotZero(100),
    "Events that may come at once above that rate.",
    NOT_NEGATIVE,
  ),
  active("kubeAPIQPS", integer(50), "Requests to the API server per second.", NOT_NEGATIVE),
  active(
    "kubeAPIBurst",
    integerNotZero(100),
    "Requests to the API server that may come at once above that rate.",
    NOT_NEGATIVE,
  ),
  inert(
    "contentType",
    text("application/vnd.kubernetes.protobuf"),
    "Encoding used towards the API server; nodelet always speaks JSON.",
  ),
] as const;
