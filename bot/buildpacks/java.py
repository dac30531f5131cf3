"""Java and Kotlin: Spring Boot, Quarkus and Micronaut, with Maven or Gradle."""

import re

from bot.buildpacks import environment, runtimes
from bot.buildpacks.buildpack import Finding, Refusal, Role
from bot.buildpacks.ports import as_port
from bot.plan import Argv, LaunchPlan, Note, Readiness
from bot.source import Folder

_FRAMEWORKS = (
    ("org.springframework.boot", "spring-boot", "Spring Boot", "spring-boot:run", "bootRun"),
    ("io.quarkus", "quarkus", "Quarkus", "quarkus:dev", "quarkusDev"),
    ("io.micronaut", "micronaut", "Micronaut", "mn:run", "run"),
    ("io.ktor", "ktor", "Ktor", "exec:java", "run"),
    ("io.javalin", "javalin", "Javalin", "exec:java", "run"),
    ("com.sparkjava", "spark", "Spark", "exec:java", "run"),
    ("jetty-maven-plugin", "jetty", "Jetty", "jetty:run", "appRun"),
)
_GRADLE = ("build.gradle", "build.gradle.kts")
_SETTINGS = tuple(f"src/main/resources/application{suffix}" for suffix in (".properties", ".yml", ".yaml", ".conf"))
_VERSION = re.compile(
    r"<(?:java\.version|maven\.compiler\.(?:release|source|target)|release)>\s*(?:1\.)?(\d+)"
    r"|JavaLanguageVersion\.of\((\d+)\)|jvmToolchain\((\d+)\)"
    r"|(?:source|target)Compatibility\s*=\s*['\"]?(?:JavaVersion\.VERSION_)?(?:1[._])?(\d+)"
)


def find(folder: Folder) -> Finding | Refusal | None:
    """The plan of a JVM web app; Maven is taken when both build tools are there."""
    manifest = folder.first("pom.xml", *_GRADLE)
    if manifest is None:
        return None
    folder.want(manifest, "system.properties", *_SETTINGS)
    text = folder.text(manifest)
    row = next((row for row in _FRAMEWORKS if row[0] in text), None)
    if row is None:
        return Refusal(
            "the build brings no web framework that is known here", folder.at(manifest), 'Name it: start = "…".'
        )
    return _finding(folder, manifest, text, row)


def _port(folder: Folder) -> int | None:
    for name in _SETTINGS:
        found = re.search(r"(?:server|http)\.port\s*[=:]\s*\D{0,12}?(\d{2,5})", folder.text(name)) or re.search(
            r"^(?:server|  http|ktor):[ \t]*\n(?:[ \t]+.*\n)*?[ \t]+port:\s*\D{0,12}?(\d{2,5})", folder.text(name), re.M
        )
        if found and (port := as_port(found.group(1))):
            return port
    return None


def _java(folder: Folder, text: str) -> str:
    pin = runtimes.pinned("java", folder)
    found = _VERSION.search(text) or re.search(r"java\.runtime\.version\s*=\s*(\d+)", folder.text("system.properties"))
    image = runtimes.of_image("java", folder)
    return next((group for group in found.groups() if group), "*") if found else (pin or image or ("*",))[0]


def _finding(folder: Folder, manifest: str, text: str, row: tuple[str, str, str, str, str]) -> Finding:
    _, kind, title, goal, task = row
    maven = manifest == "pom.xml"
    wrapper = folder.has("mvnw" if maven else "gradlew")
    tool = ("./mvnw" if wrapper else "mvn") if maven else ("./gradlew" if wrapper else "gradle")
    install: Argv = (tool, "-q", "-DskipTests", "package") if maven else (tool, "build", "-x", "test")
    actuator = "spring-boot-starter-actuator" in text
    port = _port(folder)
    where = next((name for name in _SETTINGS if folder.has(name)), manifest)
    plan = LaunchPlan(
        kind=kind,
        title=f"{title} with {'Maven' if maven else 'Gradle'}",
        root=folder.path,
        install_root=folder.path,
        package_manager="maven" if maven else "gradle",
        install=install,
        start=(tool, goal if maven else task),
        port=port or 8080,
        needs_env=environment.needed(folder),
        runtime={"java": _java(folder, text)},
        install_inputs=(folder.at(manifest),),
        restart_inputs=tuple(folder.at(name) for name in _SETTINGS if folder.has(name)),
        reloads=kind == "quarkus",
        readiness=Readiness(path="/actuator/health" if actuator else "/"),
        notes=(
            Note(text=title, file=folder.at(manifest)),
            Note(text=f"port {port}", file=folder.at(where))
            if port
            else Note(text=f"port 8080, the default of {title}"),
        ),
    )
    return Finding(plan, Role.SITE, toolchain=False)
