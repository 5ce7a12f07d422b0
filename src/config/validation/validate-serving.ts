// pure

import { formatDuration } from "../../api/text/duration.ts";
import { quoted } from "../../api/text/go-quote.ts";
import { isIP } from "../../api/text/ip.ts";
import { dns1123SubdomainFaults } from "../../api/text/names.ts";
import { readQuantity } from "../../api/text/quantity.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import type { FeatureGates } from "../gates/feature-gates.ts";
import type { KubeletConfig } from "../kubelet-config.ts";
import {
  type ConfigProblem,
  duplicateValue,
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../problem.ts";
import { releaseBefore, releaseOf } from "../release.ts";
import { isKnownCipherSuite, KEY_EXCHANGES, TLS_VERSIONS } from "./tls-names.ts";
import { readTraceEndpoint } from "./trace-endpoint.ts";

const LOG_FORMATS = ["text", "json"] as const;
const MILLION = 1_000_000;

/** Rules about ports, credentials, logging and tracing. */
export function validateServing(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  return [
    ...validateAddresses(config),
    ...validateTls(config, gates),
    ...validateAuthorization(config),
    ...validateSystemLogs(config),
    ...validateLogging(config, gates),
    ...validateObservation(config),
  ];
}

function validateAddresses(config: KubeletConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const { address, healthzBindAddress } = config;
  const fix = "use 0.0.0.0 or :: for all interfaces";
  const isServed = config.enableServer || config.readOnlyPort > 0;
  if (isServed && !isIP(address)) {
    problems.push(invalidValue("address", address, "must be a valid IP address", fix));
  }
  if (config.healthzPort > 0 && !isHost(healthzBindAddress)) {
    const rule = "must be a valid IP address or host name";
    problems.push(invalidValue("healthzBindAddress", healthzBindAddress, rule, fix));
  }
  const port = config.enableServer ? config.port : 0;
  const { readOnlyPort, healthzPort } = config;
  const taken = new Map<number, string>();
  for (const [path, value] of Object.entries({ port, readOnlyPort, healthzPort })) {
    const other = value === 0 ? undefined : taken.get(value);
    if (other !== undefined && clash(config, other, path)) {
      problems.push(
        invalidValue(path, value, `is already the value of ${other}`, "use another port"),
      );
    }
    taken.set(value, path);
  }
  return problems;
}

/** An address, or a name: what ends in a number cannot be one. */
function isHost(text: string): boolean {
  if (isIP(text)) return true;
  const isName = dns1123SubdomainFaults(text.toLowerCase()).length === 0;
  return isName && !/(^|\.)\d+$/.test(text);
}

/** Two listeners on one port clash unless they have different addresses of their own. */
function clash(config: KubeletConfig, a: string, b: string): boolean {
  const addressOf = (path: string) =>
    path === "healthzPort" ? config.healthzBindAddress : config.address;
  const [first, second] = [addressOf(a), addressOf(b)];
  const anywhere = (address: string) => address === "0.0.0.0" || address === "::";
  return first === second || anywhere(first) || anywhere(second);
}

function validateTls(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const { tlsCertFile, tlsPrivateKeyFile } = config;
  if ((tlsCertFile === "") !== (tlsPrivateKeyFile === "")) {
    const missing = tlsCertFile === "" ? "tlsCertFile" : "tlsPrivateKeyFile";
    const given = tlsCertFile === "" ? "tlsPrivateKeyFile" : "tlsCertFile";
    problems.push(
      requiredValue(missing, `${given} has no effect without it`, `set ${missing} too`),
    );
  }
  config.tlsCipherSuites.forEach((name, i) => {
    if (isKnownCipherSuite(name)) return;
    const path = `tlsCipherSuites[${i}]`;
    problems.push(
      invalidValue(
        path,
        name,
        `Cipher suite ${name} not supported or doesn't exist`,
        "see the docs",
      ),
    );
  });
  config.tlsCurvePreferences.forEach((curve, i) => {
    const path = `tlsCurvePreferences[${i}]`;
    if (KEY_EXCHANGES[curve] === undefined) {
      problems.push(unsupportedValue(path, curve, Object.keys(KEY_EXCHANGES)));
    } else if (config.tlsCurvePreferences.indexOf(curve) < i) {
      problems.push(duplicateValue(path, curve, "remove it"));
    }
  });
  if (config.tlsMinVersion !== "" && !TLS_VERSIONS.includes(config.tlsMinVersion)) {
    problems.push(unsupportedValue("tlsMinVersion", config.tlsMinVersion, TLS_VERSIONS));
  }
  if (config.serverTLSBootstrap && !gates.isEnabled("RotateKubeletServerCertificate")) {
    problems.push(
      forbiddenField(
        "serverTLSBootstrap",
        "serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate",
        "enable the gate, or set it to false",
      ),
    );
  }
  return problems;
}

function validateAuthorization(config: KubeletConfig): ConfigProblem[] {
  const { mode } = config.authorization;
  if (mode === "AlwaysAllow" || mode === "Webhook") return [];
  return [unsupportedValue("authorization.mode", mode, ["AlwaysAllow", "Webhook"])];
}

/** The gate NodeLogQuery is locked to on, so only the other field can be missing. */
function validateSystemLogs(config: KubeletConfig): ConfigProblem[] {
  if (!config.enableSystemLogQuery || config.enableSystemLogHandler) return [];
  const why = "enableSystemLogHandler is required for enableSystemLogQuery";
  return [forbiddenField("enableSystemLogQuery", why, "set enableSystemLogHandler: true")];
}

function validateLogging(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const { format, flushFrequency, verbosity, vmodule, options } = config.logging;
  if (!LOG_FORMATS.some((known) => known === format)) {
    problems.push(
      invalidValue("logging.format", format, "Unsupported log format", "use text or json"),
    );
  }
  if (flushFrequency <= 0) {
    const written = formatDuration(flushFrequency);
    problems.push(invalidValue("logging.flushFrequency", written, "Must be greater than zero"));
  }
  if (verbosity < 0) {
    problems.push(
      invalidValue("logging.verbosity", verbosity, "must be between 0 and 2147483647, inclusive"),
    );
  }
  if (vmodule.length > 0 && format !== "text" && format !== "") {
    problems.push(forbiddenField("logging.vmodule", "Only supported for text log format"));
  }
  vmodule.forEach((entry, i) => {
    const path = `logging.vmodule[${i}].filePattern`;
    if (entry.verbosity < 0) {
      const rule = "must be between 0 and 2147483647, inclusive";
      problems.push(invalidValue(`logging.vmodule[${i}].verbosity`, entry.verbosity, rule));
    }
    if (entry.filePattern === "") problems.push(requiredValue(path, "File pattern is empty"));
    if (/[=,]/.test(entry.filePattern)) {
      problems.push(
        invalidValue(path, entry.filePattern, "File pattern must not contain '=' or ','"),
      );
    }
  });
  for (const kind of ["text", "json"] as const) {
    appendAll(problems, validateStream(`logging.options.${kind}`, options[kind], gates));
  }
  return problems;
}

function validateStream(
  path: string,
  stream: KubeletConfig["logging"]["options"]["text"],
  gates: FeatureGates,
): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const size = readQuantity(stream.infoBufferSize);
  const buffered = size.kind === "quantity" && size.quantity.mantissa !== 0n;
  if (gates.isEnabled("LoggingAlphaOptions")) return problems;
  const set = { splitStream: stream.splitStream, infoBufferSize: buffered };
  for (const [name, isSet] of Object.entries(set)) {
    if (!isSet) continue;
    const why = "Feature LoggingAlphaOptions is disabled";
    problems.push(forbiddenField(`${path}.${name}`, why, "enable the gate, or remove the field"));
  }
  return problems;
}

function validateObservation(config: KubeletConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const shownSince = config.showHiddenMetricsForVersion;
  const previous = releaseBefore(releaseOf(config.compat));
  if (shownSince !== "" && shownSince !== previous) {
    const rule = `must be omitted or have the value ${quoted(previous)}. Only the previous minor version is allowed`;
    problems.push(invalidValue("showHiddenMetricsForVersion", shownSince, rule));
  }
  const { samplingRatePerMillion: rate, endpoint } = config.tracing;
  const target = readTraceEndpoint(endpoint ?? "");
  if (target.kind === "fault") {
    const fix = "e.g. localhost:4317 or unix:///run/collector.sock";
    problems.push(invalidValue("tracing.endpoint", target.url, target.why, fix));
  }
  if (rate !== undefined && rate < 0) {
    problems.push(
      invalidValue("tracing.samplingRatePerMillion", rate, "sampling rate must be positive"),
    );
  }
  if (rate !== undefined && rate > MILLION) {
    const rule = "sampling rate per million must be less than or equal to one million";
    problems.push(invalidValue("tracing.samplingRatePerMillion", rate, rule));
  }
  return problems;
}
