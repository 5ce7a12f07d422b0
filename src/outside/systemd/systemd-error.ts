// pure
import { type OutsideCode, OutsideError } from "../../kit/errors.ts";

const CODES: Readonly<Record<string, OutsideCode>> = {
  "org.freedesktop.systemd1.NoSuchUnit": "notFound",
  "org.freedesktop.systemd1.UnitExists": "alreadyExists",
  "org.freedesktop.DBus.Error.AccessDenied": "denied",
  "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired": "denied",
  "org.freedesktop.DBus.Error.InvalidArgs": "invalid",
  "org.freedesktop.DBus.Error.PropertyReadOnly": "invalid",
  "org.freedesktop.DBus.Error.UnknownProperty": "invalid",
  "org.freedesktop.DBus.Error.UnknownMethod": "unimplemented",
  "org.freedesktop.DBus.Error.LimitsExceeded": "exhausted",
  "org.freedesktop.DBus.Error.NoReply": "deadline",
  "org.freedesktop.DBus.Error.Timeout": "deadline",
  "org.freedesktop.DBus.Error.Disconnected": "unavailable",
  "org.freedesktop.DBus.Error.ServiceUnknown": "unavailable",
  "org.freedesktop.DBus.Error.NameHasNoOwner": "unavailable",
};

/** The fields of an error of the D-Bus library that are used. */
interface Thrown {
  readonly dbusName?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
}

/** Whether the connection went away before the answer came. */
export function hasLostConnection(thrown: unknown): boolean {
  if (thrown instanceof OutsideError) return thrown.code === "unavailable";
  return ((thrown ?? {}) as Thrown).code === "ECONNCLOSED";
}

/** `thrown` as an `OutsideError` with the failed operation and systemd's message. */
export function systemdError(action: string, thrown: unknown): OutsideError {
  if (thrown instanceof OutsideError) {
    return new OutsideError(thrown.code, `${action}: ${thrown.message}`, { cause: thrown });
  }
  const { dbusName, message } = (thrown ?? {}) as Thrown;
  const name = typeof dbusName === "string" ? dbusName : "";
  const text = [name, typeof message === "string" ? message : String(thrown)];
  const code = CODES[name] ?? "io";
  return new OutsideError(code, `${action}: ${text.filter((part) => part !== "").join(": ")}`, {
    cause: thrown,
  });
}
