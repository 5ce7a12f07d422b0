// pure

import { forbidden } from "../decode/field-problem.ts";
import type { Pod, SeccompProfile } from "../generated/types.ts";
import { allContainers, annotationOf } from "../pod/pod.ts";
import { child, FINE, type Problems } from "./fields.ts";
import { PROFILE_ANNOTATIONS } from "./metadata.ts";
import { containerPath } from "./windows.ts";

const LOCAL_PREFIX = "localhost/";

interface Wording {
  readonly what: "seccomp" | "apparmor";
  readonly defaults: readonly string[];
}

const SECCOMP: Wording = { what: "seccomp", defaults: ["runtime/default", "docker/default"] };
const APPARMOR: Wording = { what: "apparmor", defaults: ["runtime/default"] };

/** A profile set twice, by field and by its old annotation, must be the same. */
function mismatch(
  annotation: string | undefined,
  profile: SeccompProfile | undefined,
  path: string,
  { what, defaults }: Wording,
): Problems {
  if (annotation === undefined || profile === undefined) return FINE;
  const wrongType = [
    forbidden(child(path, "type"), `${what} type in annotation and field must match`),
  ];
  switch (profile.type) {
    case "Unconfined":
      return annotation === "unconfined" ? FINE : wrongType;
    case "RuntimeDefault":
      return defaults.includes(annotation) ? FINE : wrongType;
    case "Localhost":
      if (!annotation.startsWith(LOCAL_PREFIX)) return wrongType;
      return annotation.slice(LOCAL_PREFIX.length) === profile.localhostProfile
        ? FINE
        : [
            forbidden(
              child(path, "localhostProfile"),
              `${what} profile in annotation and field must match`,
            ),
          ];
    default:
      return FINE;
  }
}

/** Seccomp and AppArmor profiles of a new pod that are set in two ways. */
export function profileAnnotationProblems(pod: Pod): Problems {
  const ofPod = pod.spec?.securityContext;
  return [
    ...mismatch(
      annotationOf(pod, PROFILE_ANNOTATIONS.seccompPod),
      ofPod?.seccompProfile,
      "spec.securityContext.seccompProfile",
      SECCOMP,
    ),
    ...allContainers(pod).flatMap((placed) => {
      const { name, securityContext } = placed.container;
      const path = child(containerPath(placed), "securityContext");
      return [
        ...mismatch(
          annotationOf(pod, PROFILE_ANNOTATIONS.seccompContainer + name),
          securityContext?.seccompProfile,
          child(path, "seccompProfile"),
          SECCOMP,
        ),
        ...(pod.spec?.os?.name === "windows"
          ? FINE
          : mismatch(
              annotationOf(pod, PROFILE_ANNOTATIONS.appArmorContainer + name),
              securityContext?.appArmorProfile ?? ofPod?.appArmorProfile,
              child(path, "appArmorProfile"),
              APPARMOR,
            )),
      ];
    }),
  ];
}
