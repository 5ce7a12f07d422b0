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
  orElse,
  planned,
  quantity,
  STRING,
  text,
} from "./field-types.ts";

const PORT = "1 to 65535";
const PORT_OR_OFF = "0 to 65535, 0 disables it";
const NOT_NEGATIVE = "0 or more";

/** The agent's ports, who may use them, and what it logs. */
export const SERVING_FIELDS = [
  active("enableServer", boolean(true), "Enable the HTTPS server."),
  active("address", text("0.0.0.0"), "Address the HTTPS port listens on.", "an IP address"),
  active("port", integerNotZero(10250), "Port of the HTTPS server.", PORT),
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
    "Key exchange mechanisms, as numbers of the TLS registry; empty takes the default.",
    "23, 24, 25, 29, 4587, 4588 or 4589, each once",
  ),
  active(
    "tlsMinVersion",
    text(""),
    "Minimum TLS version accepted.",
    "VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13",
  ),
  active(
    "rotateCertificates",
    boolean(false),
    "Renew the client certificate through the API server before it expires.",
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
    "CA certificates that client certificates are verified with, PEM.",
  ),
  active(
    "authentication.webhook.enabled",
    boolean(true),
    "Authenticate bearer tokens with the API server (TokenReview).",
  ),
  active(
    "authentication.webhook.cacheTTL",
    duration("2m0s"),
    "How long the result of token authentication is cached.",
  ),
  active(
    "authentication.anonymous.enabled",
    boolean(false),
    "Allow requests without credentials, as system:anonymous.",
  ),
  active(
    "authorization.mode",
    text("Webhook"),
    "Authorization mode: AlwaysAllow, or Webhook (asks the API server with SubjectAccessReview).",
    "AlwaysAllow or Webhook",
  ),
  active(
    "authorization.webhook.cacheAuthorizedTTL",
    duration("5m0s"),
    "How long positive authorization results are cached.",
  ),
  active(
    "authorization.webhook.cacheUnauthorizedTTL",
    duration("30s"),
    "How long negative authorization results are cached.",
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
  active("enableProfilingHandler", boolean(true), "Serve /debug/pprof/."),
  active("enableDebugFlagsHandler", boolean(true), "Serve /debug/flags/v."),
  active("enableSystemLogHandler", boolean(true), "Serve the node's log folder under /logs/."),
  active(
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
    "an IP address or host name",
  ),
  active(
    "streamingConnectionIdleTimeout",
    duration("4h0m0s"),
    "How long a streaming connection may be idle before it is closed.",
  ),
  active("logging.format", text("text"), "Form of the log lines.", "text or json"),
  active(
    "logging.flushFrequency",
    durationOrNanoseconds("5s"),
    "How often buffered log lines are written; text, or a number of nanoseconds.",
    "more than 0s",
  ),
  active("logging.verbosity", integer(0), "Log verbosity; 0 logs the least.", "0 to 2147483647"),
  active(
    "logging.vmodule",
    list({
      kind: "object",
      members: { filePattern: orElse(STRING, ""), verbosity: orElse(INT32, 0) },
    }),
    "Log verbosity of single loggers, by the name that stands before the message; text format only.",
  ),
  active(
    "logging.options.text.splitStream",
    boolean(false),
    "Errors to stderr and the rest to stdout, text format.",
    "needs the gate LoggingAlphaOptions",
  ),
  active(
    "logging.options.text.infoBufferSize",
    quantity("0"),
    "Bytes buffered of the information stream, text format.",
    "needs the gate LoggingAlphaOptions",
  ),
  active(
    "logging.options.json.splitStream",
    boolean(false),
    "Errors to stderr and the rest to stdout, JSON format.",
    "needs the gate LoggingAlphaOptions",
  ),
  active(
    "logging.options.json.infoBufferSize",
    quantity("0"),
    "Bytes buffered of the information stream, JSON format.",
    "needs the gate LoggingAlphaOptions",
  ),
  active(
    "showHiddenMetricsForVersion",
    text(""),
    "Show the metrics hidden since this version.",
    "the previous minor version, e.g. 1.36",
  ),
  active(
    "tracing.endpoint",
    optional(text("")),
    "OTLP collector that spans are sent to; 4317 on the local host when absent.",
    "host:port, dns:///host:port or unix:///path",
  ),
  active(
    "tracing.samplingRatePerMillion",
    optional(integer(0)),
    "Spans sampled of a million.",
    "0 to 1000000",
  ),
  active("eventRecordQPS", integer(50), "Events created per second; 0 is no limit.", NOT_NEGATIVE),
  active(
    "eventBurst",
    integerNotZero(100),
    "Maximum burst of events above eventRecordQPS.",
    NOT_NEGATIVE,
  ),
  active("kubeAPIQPS", integer(50), "Requests to the API server per second.", NOT_NEGATIVE),
  active(
    "kubeAPIBurst",
    integerNotZero(100),
    "Maximum burst of requests above kubeAPIQPS.",
    NOT_NEGATIVE,
  ),
  inert(
    "contentType",
    text("application/vnd.kubernetes.protobuf"),
    "Encoding of requests to the API server; nodelet always uses JSON.",
  ),
] as const;
